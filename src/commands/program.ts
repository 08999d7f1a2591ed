import { Command as CommanderCommand, CommanderError, Option as Flag } from "commander";
import { ConfigError } from "../runtime/config/config.ts";
import { packageVersion } from "../runtime/package-root.ts";
import { DatabaseUnavailable, isMissingTable } from "../store/database/faults.ts";
import { CHANNEL_COMMANDS } from "./channel.ts";
import { CLIENT_COMMANDS } from "./client.ts";
import { type Command, type CommandContext, CommandError, type Option, UsageError } from "./command.ts";
import { DEMO_COMMAND } from "./demo.ts";
import { DOCTOR_COMMAND } from "./doctor/doctor.ts";
import { EVENTS_COMMANDS } from "./events.ts";
import { KEY_COMMANDS } from "./key.ts";
import { MIGRATE_COMMAND } from "./migrate.ts";
import { toText } from "./print.ts";
import { QUEUE_COMMANDS } from "./queue.ts";
import { SECRETS_COMMANDS } from "./secrets.ts";
import { TERMS_COMMANDS } from "./terms.ts";
import { USER_COMMANDS } from "./user.ts";

/** The list of verbs: a new one adds its line here. */
const COMMANDS: readonly Command[] = [
  MIGRATE_COMMAND,
  ...CLIENT_COMMANDS,
  ...USER_COMMANDS,
  ...KEY_COMMANDS,
  ...CHANNEL_COMMANDS,
  ...TERMS_COMMANDS,
  ...EVENTS_COMMANDS,
  ...QUEUE_COMMANDS,
  ...SECRETS_COMMANDS,
  DOCTOR_COMMAND,
  DEMO_COMMAND,
];

interface OutputStreams {
  out(text: string): void;
  err(text: string): void;
}

/** Runs one command and answers its exit code: 0, 1 when it could not be done, 2 when it was not understood. */
export async function runCommand(
  args: readonly string[],
  context: CommandContext,
  streams: OutputStreams,
): Promise<number> {
  let exitCode = 0;
  const program = createProgram(streams, async (command, rawOptions) => {
    const result = await command.run(await parseOptions(command, rawOptions, context), context);
    streams.out(`${rawOptions.json ? JSON.stringify(result) : (command.show ?? toText)(result)}\n`);
    if (command.isFailure?.(result)) exitCode = 1;
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2; // it has said what is wrong
    streams.err(`herald: ${errorMessage(error, context)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

type RawOptions = Record<string, string | true | undefined>;
type CommandAction = (command: Command, rawOptions: RawOptions) => Promise<void>;

function createProgram({ out, err }: OutputStreams, runAction: CommandAction): CommanderCommand {
  const program = new CommanderCommand("herald")
    .description(
      "Looks after a Herald service: its clients, users, keys, channels, terms, events, queue, secrets and health.",
    )
    .version(packageVersion())
    // Its own options come first: further on, --version is that of the terms.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: out, writeErr: err })
    .showHelpAfterError("(add --help for what is possible)");
  for (const command of COMMANDS) {
    const [leafName, parent] = resolveParent(program, command.name);
    const subcommand = parent.command(leafName).description(command.summary);
    for (const [name, option] of Object.entries(command.options)) subcommand.addOption(toFlag(name, option));
    subcommand.option("--json", "one JSON object on standard output");
    subcommand.action((rawOptions: RawOptions) => runAction(command, rawOptions));
  }
  for (const group of program.commands.filter(({ commands }) => commands.length > 0))
    group.description(group.commands.map((subcommand) => subcommand.name()).join(", "));
  return program;
}

/** `client create` is the word `create` of the noun `client`, which is made at its first verb. */
function resolveParent(program: CommanderCommand, name: string): [string, CommanderCommand] {
  const [group = "", leafName] = name.split(" ");
  if (leafName === undefined) return [group, program];
  const existing = program.commands.find((command) => command.name() === group);
  return [leafName, existing ?? program.command(group)];
}

const toKebabCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function toFlag(name: string, { placeholder, about, required }: Option<unknown>): Flag {
  const argument = placeholder === undefined ? "" : ` <${placeholder}>`;
  return new Flag(`--${toKebabCase(name)}${argument}`, about).makeOptionMandatory(required);
}

async function parseOptions(
  { options }: Command,
  rawOptions: RawOptions,
  context: CommandContext,
): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(options)) {
    const text = rawOptions[name];
    if (text !== undefined) values[name] = await parseOption(name, option, { text: String(text), context });
  }
  return values;
}

async function parseOption(
  name: string,
  { secret, parse }: Option<unknown>,
  { text, context }: { text: string; context: CommandContext },
): Promise<unknown> {
  try {
    return parse(secret && text === "-" ? await readSecret(context) : text);
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`--${toKebabCase(name)} ${error.message}`);
    throw error;
  }
}

async function readSecret(context: CommandContext): Promise<string> {
  const line = await context.readLine();
  if (line === "") throw new UsageError("is to be read from standard input, but nothing came");
  return line;
}

function errorMessage(error: unknown, { env }: CommandContext): string {
  if (error instanceof CommandError || error instanceof UsageError) return error.message;
  if (error instanceof ConfigError) return `${error.message}${env.DATABASE_URL ? "" : LOAD_SETTINGS_HINT}`;
  if (error instanceof DatabaseUnavailable) return `${error.message}\nherald doctor looks further`;
  if (isMissingTable(error)) return "the database lacks a table: run herald migrate first";
  return error instanceof Error ? error.message : "failed";
}

const LOAD_SETTINGS_HINT = `
The settings of a service started by npm start are loaded with: set -a; . .herald/env; set +a`;
