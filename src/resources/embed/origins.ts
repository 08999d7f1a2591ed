import { invalidField } from "../../http/api-error.ts";
import { ORIGIN_MESSAGE } from "./schema.ts";

const LOCAL_HOSTS = ["localhost", "127.0.0.1"];

/** Throws a 400 for the first text that is not an origin as browsers write it. */
export function checkOrigins(origins: readonly string[]): void {
  const index = origins.findIndex((origin) => !isExactOrigin(origin));
  if (index >= 0) throw invalidField(`/allowed_origins/${index}`, ORIGIN_MESSAGE);
}

function isExactOrigin(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.origin !== text) return false;
  return url.protocol === "https:" || LOCAL_HOSTS.includes(url.hostname);
}
