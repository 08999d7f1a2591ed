import { type Environment, SETTINGS, type Setting } from "./settings.ts";

type Settings = typeof SETTINGS;
type SettingName = keyof Settings;
type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** Settings that may stay unset; readConfig returns a value for every other one. */
type OptionalName =
  | "JWT_SECRET"
  | "JWT_JWKS_URL"
  | "JWT_ISSUER"
  | "JWT_AUDIENCE"
  | "METRICS_PORT"
  | "METRICS_TOKEN";

export type Config = Readonly<
  { [N in Exclude<SettingName, OptionalName>]: ValueOf<Settings[N]> } & {
    [N in OptionalName]: ValueOf<Settings[N]> | undefined;
  }
>;

/** An invalid or missing setting. The message never contains the value, which may be a secret. */
export interface SettingProblem {
  name: SettingName;
  message: string;
}

export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `${problems.length} wrong setting${problems.length === 1 ? "" : "s"}:\n  - ${problems.join("\n  - ")}`,
    );
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** Reads all settings, or throws one ConfigError that names every problem. */
export function readConfig(env: Environment): Config {
  const { config, problems } = inspectSettings(env);
  if (problems.length > 0) throw new ConfigError(problems.map(({ message }) => message));
  return config as Config;
}

/** True when the sandbox simulates this platform; never in production. */
export const isSandboxed = (config: Config, platform: "AD_PLATFORM_URL" | "CHAT_PLATFORM_URL"): boolean =>
  config.NODE_ENV !== "production" && new URL(config[platform]).host === `localhost:${config.SANDBOX_PORT}`;

/** Reads the named settings and ignores problems with the others. */
export function readSettings<N extends SettingName>(env: Environment, names: readonly N[]): Pick<Config, N> {
  const { config, problems } = inspectSettings(env);
  const wrong = problems.filter(({ name }) => names.some((wanted) => wanted === name));
  if (wrong.length > 0) throw new ConfigError(wrong.map(({ message }) => message));
  return Object.fromEntries(names.map((name) => [name, config[name]])) as Pick<Config, N>;
}

/** Returns the valid settings and the problems of the others. */
export function inspectSettings(env: Environment): { config: Partial<Config>; problems: SettingProblem[] } {
  const problems: SettingProblem[] = [];
  const isProduction = env.NODE_ENV === "production";
  const entries = Object.entries<Setting<unknown>>(SETTINGS).map(([key, setting]) => {
    const name = key as SettingName;
    const addProblem = (description: string) => problems.push({ name, message: `${name} ${description}` });
    const rawValue = env[name] === "" ? undefined : env[name];
    const problem = missingProblem(setting, rawValue, isProduction);
    if (problem) addProblem(problem);
    const source = rawValue ?? (problem ? undefined : fallbackText(setting, env));
    const value = source === undefined ? undefined : setting.kind.parse(source);
    // A fallback derived from another invalid setting is not reported as a second problem.
    if (rawValue !== undefined && value === undefined) addProblem(`must be ${setting.kind.expects}`);
    const refusal = isProduction ? productionRefusal(setting, value) : undefined;
    if (refusal) addProblem(refusal);
    return [name, value];
  });
  problems.push(...userTokenProblems(env));
  return { config: Object.freeze(Object.fromEntries(entries)), problems };
}

function missingProblem(setting: Setting<unknown>, rawValue: string | undefined, isProduction: boolean) {
  if (rawValue !== undefined) return undefined;
  if (setting.required === "always") return `is required: ${setting.kind.expects}`;
  if (setting.required === "production" && isProduction)
    return `is required in production: ${setting.httpsInProduction ? setting.kind.expects.replace("http or ", "") : setting.kind.expects}`;
  return undefined;
}

function productionRefusal(setting: Setting<unknown>, value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  if (setting.httpsInProduction && !value.startsWith("https://"))
    return "must start with https:// in production";
  if (setting.ownValueInProduction && value === setting.fallback)
    return "must not be the sandbox's value in production";
  return undefined;
}

function fallbackText(setting: Setting<unknown>, env: Environment): string | undefined {
  return typeof setting.fallback === "function" ? setting.fallback(env) : setting.fallback;
}

function userTokenProblems(env: Environment): SettingProblem[] {
  const jwks = ["JWT_JWKS_URL", "JWT_ISSUER", "JWT_AUDIENCE"] as const;
  const given = jwks.filter((name) => env[name]);
  const missing = jwks.filter((name) => !env[name]);
  if (given.length > 0 && missing.length > 0) {
    const message = `${missing.join(" and ")} must be set together with ${given.join(" and ")}`;
    return [{ name: missing[0] as SettingName, message }];
  }
  if (given.length === 0 && !env.JWT_SECRET) {
    const message = "JWT_SECRET is required, or JWT_JWKS_URL with JWT_ISSUER and JWT_AUDIENCE";
    return [{ name: "JWT_SECRET", message }];
  }
  return [];
}
