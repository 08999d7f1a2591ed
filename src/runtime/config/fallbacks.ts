import { withoutTrailing } from "../without-trailing.ts";

/** Defaults that are derived from other settings. */

export type Environment = Readonly<Record<string, string | undefined>>;

export const nonEmpty = (value: string | undefined): string | undefined => (value === "" ? undefined : value);

const MAX_PORT = 65_535;

const sandboxPort = (env: Environment) => nonEmpty(env.SANDBOX_PORT) ?? "8090";

export const sandboxUrl = (path: string) => (env: Environment) =>
  `http://localhost:${sandboxPort(env)}${path}`;

/** The media have a port of their own, because the platform serves them from another host than its API. */
export function sandboxMediaPort(env: Environment): string {
  const port = Number(sandboxPort(env));
  return String(port < MAX_PORT ? port + 1 : port - 1);
}

export const publicUrl = (env: Environment) =>
  withoutTrailing(nonEmpty(env.PUBLIC_URL) ?? `http://localhost:${nonEmpty(env.PORT) ?? "8080"}`, "/");

/** The host from which the chat platform serves received files. */
const PLATFORM_MEDIA_HOST = "lookaside.fbsbx.com";

/** Undefined when the chat platform's URL is wrong, which is reported by its own setting. */
export function mediaHosts(env: Environment): string | undefined {
  const url = nonEmpty(env.CHAT_PLATFORM_URL) ?? sandboxUrl("/v26.0")(env);
  return URL.canParse(url) ? `${new URL(url).host},${PLATFORM_MEDIA_HOST}` : undefined;
}
