import type { AdObjectParts } from "../../domain/ads/ad-objects.ts";
import type { RedisClient } from "../../queue/redis.ts";
import type { Config } from "../../runtime/config/config.ts";
import type { Environment } from "../../runtime/config/settings.ts";
import type { Log } from "../../runtime/log.ts";
import type { Passwords } from "../../security/passwords.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import type { UserTokens } from "../../security/user-tokens.ts";
import type { Database } from "../../store/database/database.ts";
import type { AuditActor } from "../../store/tenants/audit-log.ts";
import { findClient } from "../../store/tenants/clients.ts";
import type { Progress } from "./output.ts";

/** The dependencies of a command. Settings are read and connections opened on first access. */
export interface CommandContext {
  env: Environment;
  /** The file of npm start that completed the environment; null when there is none or DATABASE_URL was set. */
  settingsFile: string | null;
  readonly config: Config;
  readonly db: Database;
  /** Connects on first access, and logs nothing when Redis is unreachable. */
  readonly redis: RedisClient;
  readonly passwords: Passwords;
  readonly tokens: UserTokens;
  readonly secretBox: SecretBox;
  /** Writes nothing: a command reports failures itself. */
  readonly log: Log;
  readonly platforms: AdObjectParts["platforms"];
  /** The operator's name, for the audit log. */
  operator: string;
  /** Prints a line beside the result; only the result goes to standard output. */
  say(line: string): void;
  /** Reads a line from standard input. */
  readLine(): Promise<string>;
  /** Shows a count instead of a bar when the total is unknown. */
  progress(label: string, total?: number): Progress;
  /** Runs the cleanup when the operator interrupts the command; returns a function that removes it. */
  onInterrupt(cleanUp: () => void): () => void;
}

/** An option of a command. `parse` throws UsageError for an invalid value. */
export interface Option<T> {
  about: string;
  /** Name of the value in the help text; a flag has none. */
  placeholder?: string;
  required: boolean;
  /** Given by its position after the verb, without a flag; a command has at most one. */
  positional?: true;
  /** `-` reads the value from standard input, which keeps it out of the shell history. */
  secret?: true;
  parse(text: string): T;
}

/** How an option is given: `pageId` as `--page-id`, a positional one by its placeholder. */
export const usageOf = (name: string, { placeholder, positional }: Option<unknown>): string =>
  (positional ? [placeholder] : [toFlag(name), placeholder]).filter(Boolean).join(" ");

/** The flag of an option: `pageId` is given as `--page-id`. */
export const toFlag = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

type Options = Record<string, Option<unknown>>;

type Values<O extends Options> = { [K in keyof O]: O[K] extends Option<infer T> ? T : never };

interface CommandDefinition<O extends Options, R extends object> {
  /** A group and a verb, such as `client create`, or a single word. */
  name: string;
  summary: string;
  options: O;
  run(values: Values<O>, context: CommandContext): Promise<R>;
  /** Formats the result for people; default: a table or one line per field. */
  show?(result: R): string;
  /** True when the exit code is 1 although there is a result to show. */
  isFailure?(result: R): boolean;
}

/** A command as data, without its type parameters. */
export type Command = CommandDefinition<Options, object>;

export const defineCommand = <O extends Options, R extends object>(
  definition: CommandDefinition<O, R>,
): Command => definition as unknown as Command;

/** A valid command that cannot be carried out: printed on standard error, exit code 1. */
export class CommandError extends Error {
  override name = "CommandError";
}

/** Too many passwords are waiting to be hashed in this process. */
export const overloadedError = (): CommandError =>
  new CommandError("too many passwords are being hashed at the moment, please try again");

/** An invalid command line: exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** The settings file of npm start names servers that run only together with it. */
export const notRunningHint = (settingsFile: string): string =>
  `the settings are from ${settingsFile}: run npm start, or correct the file`;

/** The actor of a command in the audit log. */
export const operatorActor = ({ operator }: CommandContext, clientId: string): AuditActor => ({
  clientId,
  credential: { type: "operator", id: "herald", name: operator },
  address: null,
  requestId: null,
});

/** Returns the client; throws a CommandError if it does not exist. */
export async function requireClient(
  { db }: CommandContext,
  clientId: string,
  options?: Parameters<typeof findClient>[2],
) {
  const client = await findClient(db, clientId, options);
  if (!client) throw new CommandError(`there is no client ${clientId}`);
  return client;
}

/** Asks the operator to type the client's name; throws a CommandError if it does not match. */
export async function confirmWithName(
  { say, readLine }: CommandContext,
  name: string,
  { warning, refusal }: { warning: string; refusal: string },
): Promise<void> {
  say(`${warning} Type the client's name to confirm:`);
  const line = await readLine();
  if (line === "") throw new CommandError(`the name must be typed, or --yes given; ${refusal}`);
  if (line !== name) throw new CommandError(`the name does not match; ${refusal}`);
}
