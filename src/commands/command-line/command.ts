import type { AdObjectParts } from "../../domain/ads/ad-objects.ts";
import type { RedisClient } from "../../queue/redis.ts";
import type { Config } from "../../runtime/config/config.ts";
import type { Environment } from "../../runtime/config/settings.ts";
import type { Fields, Log } from "../../runtime/log.ts";
import type { JobName } from "../../schema/enumerations.ts";
import type { Passwords } from "../../security/passwords.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import type { UserTokens } from "../../security/user-tokens.ts";
import type { Database } from "../../store/database/database.ts";
import type { AuditActor } from "../../store/tenants/audit-log.ts";
import type { Progress } from "./output.ts";

/** A client's access to the API of a running service. */
export interface ApiAccess {
  /** Without a slash at its end. */
  url: string;
  key: string;
}

/** The dependencies that every command has. None of them opens a connection. */
export interface BaseContext {
  env: Environment;
  /** The file of npm start that completed the environment; null when there is none or DATABASE_URL was set. */
  settingsFile: string | null;
  /** Address and key of the API; throws a CommandError when they are not set. */
  apiAccess(): ApiAccess;
  /** Address of the sandbox of npm start; throws a CommandError when it is not set. */
  sandboxUrl(): string;
  /** Prints a line beside the result; only the result goes to standard output. */
  say(line: string): void;
  /** Reads a line from standard input. */
  readLine(): Promise<string>;
  /** Reads all of standard input. */
  readAll(): Promise<string>;
  /** Runs the cleanup when the operator interrupts the command; returns a function that removes it. */
  onInterrupt(cleanUp: () => void): () => void;
  /** Instead of ending the process, an interrupt aborts this signal, and the command ends by itself. */
  interruptSignal(): AbortSignal;
  /** Calls back for each key that is pressed; returns a function that stops it, or undefined without a terminal. */
  onKeyPress(callback: (key: string) => void): (() => void) | undefined;
  /** True when standard output is a terminal that shows colours. */
  hasColours: boolean;
  /** True when a person sees standard error and can answer questions: both it and standard input are terminals. */
  isInteractive: boolean;
  /** Shows a count instead of a bar when the total is unknown. */
  progress(label: string, total?: number): Progress;
}

/** The dependencies of an operator's command. Settings are read and connections opened on first access. */
export interface CommandContext extends BaseContext {
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
  /** Runs a scheduled job here; undefined when another process claimed a tick of it at this moment. */
  runJob(name: JobName, signal: AbortSignal): Promise<JobRun | undefined>;
}

/** How the run of a job ended. */
export interface JobRun {
  outcome: string;
  /** Its counts, and the error of a run that failed. */
  fields: Fields;
}

/** An option of a command. `parse` throws UsageError for an invalid value. */
export interface Option<T> {
  about: string;
  /** Name of the value in the help text; a flag has none. */
  placeholder?: string;
  required: boolean;
  /** Given by its position after the verb, without a flag; a command has at most one. */
  positional?: true;
  /** May be given several times; `parse` gets each text with the value of those before it. */
  repeatable?: true;
  /** `-` reads the value from standard input, which keeps it out of the shell history. */
  secret?: true;
  parse(text: string, former?: T): T;
}

/** How an option is given: `pageId` as `--page-id`, a positional one by its placeholder. */
export const usageOf = (name: string, { placeholder, positional }: Option<unknown>): string =>
  (positional ? [placeholder] : [toFlag(name), placeholder]).filter(Boolean).join(" ");

/** The flag of an option: `pageId` is given as `--page-id`. */
export const toFlag = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

type Options = Record<string, Option<unknown>>;

type Values<O extends Options> = { [K in keyof O]: O[K] extends Option<infer T> ? T : never };

interface Definition<O extends Options, R extends object> {
  /** A group and a verb, such as `client create`, or a single word. */
  name: string;
  summary: string;
  options: O;
  /** Formats the result for people; default: a table or one line per field. */
  show?(result: R): string;
  /** True when the exit code is 1 although there is a result to show. */
  isFailure?(result: R): boolean;
}

interface OperatorDefinition<O extends Options, R extends object> extends Definition<O, R> {
  kind: "operator";
  run(values: Values<O>, context: CommandContext): Promise<R>;
}

interface ClientDefinition<O extends Options, R extends object> extends Definition<O, R> {
  kind: "client";
  /** Returns no result when it has printed everything itself. */
  run(values: Values<O>, context: BaseContext, output: CommandOutput): Promise<R | undefined>;
}

/** For a command that prints while it runs. */
export interface CommandOutput {
  /** True with `--json`. */
  isJson: boolean;
  /** Prints a line on standard output. */
  print(line: string): void;
}

/** A command as data, without its type parameters. */
export type Command = OperatorDefinition<Options, object> | ClientDefinition<Options, object>;

/** A command that works on the service's own Postgres and Redis. */
export const defineCommand = <O extends Options, R extends object>(
  definition: Omit<OperatorDefinition<O, R>, "kind">,
): Command => ({ ...definition, kind: "operator" }) as unknown as Command;

/** A command that calls the API with a key, like any client. */
export const defineClientCommand = <O extends Options, R extends object>(
  definition: Omit<ClientDefinition<O, R>, "kind">,
): Command => ({ ...definition, kind: "client" }) as unknown as Command;

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

/** Asks the operator to type the client's name; throws a CommandError if it does not match. */
export async function confirmWithName(
  { say, readLine }: BaseContext,
  name: string,
  { warning, refusal }: { warning: string; refusal: string },
): Promise<void> {
  say(`${warning} Type the client's name to confirm:`);
  const line = await readLine();
  if (line === "") throw new CommandError(`the name must be typed, or --yes given; ${refusal}`);
  if (line !== name) throw new CommandError(`the name does not match; ${refusal}`);
}
