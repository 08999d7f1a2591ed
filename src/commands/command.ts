import type { RedisClient } from "../queue/redis.ts";
import type { Config } from "../runtime/config/config.ts";
import type { Environment } from "../runtime/config/settings.ts";
import type { Passwords } from "../security/passwords.ts";
import type { SecretBox } from "../security/secret-box.ts";
import type { UserTokens } from "../security/user-tokens.ts";
import type { Database } from "../store/database/database.ts";
import type { Progress } from "./progress.ts";

/** What a verb works with. Settings are read and connections opened when a verb first touches them. */
export interface CommandContext {
  env: Environment;
  readonly config: Config;
  readonly db: Database;
  /** Still dialling when it is first touched, and silent when it is away. */
  readonly redis: RedisClient;
  readonly passwords: Passwords;
  readonly tokens: UserTokens;
  readonly secretBox: SecretBox;
  /** Who sits at it, for the audit log. */
  operator: string;
  /** Says something beside the result, which alone goes to standard output. */
  say(line: string): void;
  /** A line from standard input. */
  readLine(): Promise<string>;
  progress(label: string, total: number): Progress;
}

/** An option of a verb: how its text becomes a value. Throws UsageError for one that does not. */
export interface Option<T> {
  about: string;
  /** Shown in the help as what follows; a switch has none. */
  placeholder?: string;
  required: boolean;
  /** May be given as `-` and is then read from standard input, so that it stands in no history. */
  secret?: true;
  parse(text: string): T;
}

type Options = Record<string, Option<unknown>>;

type Values<O extends Options> = { [K in keyof O]: O[K] extends Option<infer T> ? T : never };

interface CommandDefinition<O extends Options, R extends object> {
  /** `client create`: a noun and what is done to it, or a single word. */
  name: string;
  summary: string;
  options: O;
  run(values: Values<O>, context: CommandContext): Promise<R>;
  /** The result for a person, where fields or a table do not say it best. */
  show?(result: R): string;
  /** Whether the result is a failure although there is something to show. */
  isFailure?(result: R): boolean;
}

/** A verb of the command line as data, its types folded away. */
export type Command = CommandDefinition<Options, object>;

export const defineCommand = <O extends Options, R extends object>(
  definition: CommandDefinition<O, R>,
): Command => definition as unknown as Command;

/** The command was understood, but cannot be done: said on standard error, exit code 1. */
export class CommandError extends Error {
  override name = "CommandError";
}

/** Too many passwords wait to be hashed in this process. */
export const overloadedError = (): CommandError =>
  new CommandError("there is too much to do at this moment, please try again");

/** The command was not understood: exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}
