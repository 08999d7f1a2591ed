import {
  Command as CommanderCommand,
  CommanderError,
  Option as CommanderOption,
  type CommandOptions,
} from "commander";
import { ConfigError } from "../runtime/config/config.ts";
import { packageVersion } from "../runtime/package-root.ts";
import { DatabaseUnavailable, isMissingTable } from "../store/database/faults.ts";
import { applyMigrations } from "../store/database/migrations.ts";
import { CHANNEL_COMMANDS } from "./channel.ts";
import { AUDIT_COMMANDS, CLIENT_COMMANDS } from "./client.ts";
import {
  type Command,
  type CommandContext,
  CommandError,
  defineCommand,
  notRunningHint,
  type Option,
  toFlag,
  UsageError,
} from "./command-line/command.ts";
import { toText } from "./command-line/output.ts";
import { DEMO_COMMAND } from "./demo.ts";
import { DOCTOR_COMMAND } from "./doctor.ts";
import { EVENTS_COMMANDS } from "./events.ts";
import { INSIGHTS_COMMANDS } from "./insights.ts";
import { KEY_COMMANDS } from "./key.ts";
import { MESSAGE_COMMANDS } from "./message.ts";
import { QUEUE_COMMANDS } from "./queue.ts";
import { SECRETS_COMMANDS } from "./secrets.ts";
import { STATS_COMMANDS } from "./stats.ts";
import { TERMS_COMMANDS } from "./terms.ts";
import { USER_COMMANDS } from "./user.ts";

const MIGRATE_COMMAND: Command = defineCommand({
  name: "migrate",
  summary: "Apply pending database migrations",
  options: {},
  run: async (_, { config }) => ({ applied: await applyMigrations(config.DATABASE_DIRECT_URL) }),
});

/** The list of verbs: a new one adds its line here. */
export const COMMANDS: readonly Command[] = [
  MIGRATE_COMMAND,
  ...CLIENT_COMMANDS,
  ...USER_COMMANDS,
  ...KEY_COMMANDS,
  ...CHANNEL_COMMANDS,
  ...TERMS_COMMANDS,
  ...EVENTS_COMMANDS,
  ...MESSAGE_COMMANDS,
  ...AUDIT_COMMANDS,
  ...QUEUE_COMMANDS,
  ...STATS_COMMANDS,
  ...SECRETS_COMMANDS,
  ...INSIGHTS_COMMANDS,
  DOCTOR_COMMAND,
  DEMO_COMMAND,
];

interface OutputStreams {
  out(text: string): void;
  err(text: string): void;
}

/** Opens the context of a command; `folder` is the value of `--folder`. */
type OpenContext = (folder: string | undefined) => ClosableContext;

type ClosableContext = CommandContext & { close(): Promise<void> };

/** Runs one command and returns its exit code: 0, 1 when the command failed, 2 for a usage error. */
export async function runCommand(
  args: readonly string[],
  openContext: OpenContext,
  streams: OutputStreams,
): Promise<number> {
  let exitCode = 0;
  let context: ClosableContext | undefined;
  const program = createProgram(streams, async (command, rawOptions) => {
    const folder = rawOptions.folder === undefined ? undefined : String(rawOptions.folder);
    context = openContext(folder);
    if (folder !== undefined && context.settingsFile === null && !context.env.DATABASE_URL)
      throw new UsageError(`--folder ${folder} has no file env: npm start has not run there`);
    try {
      const result = await command.run(await parseOptions(command, rawOptions, context), context);
      streams.out(`${rawOptions.json ? JSON.stringify(result) : (command.show ?? toText)(result)}\n`);
      if (command.isFailure?.(result)) exitCode = 1;
    } finally {
      await context.close();
    }
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2; // commander has printed the reason
    streams.err(`herald: ${errorMessage(error, context)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

type RawOptions = Record<string, string | true | undefined>;
type CommandAction = (command: Command, rawOptions: RawOptions) => Promise<void>;

function createProgram({ out, err }: OutputStreams, runAction: CommandAction): CommanderCommand {
  const program = new CommanderCommand("herald")
    .description(
      "Manages a Herald service: clients, users, keys, channels, terms, events, messages, audit log, queue, statistics, secrets, insights and health.",
    )
    .version(packageVersion())
    // The program's own options come before the verb: after it, --version is the version of the terms.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: out, writeErr: err })
    .showHelpAfterError("(--help lists the commands and options)");
  for (const command of COMMANDS) {
    const [leafName, parent, options] = resolveParent(program, command.name);
    const subcommand = parent.command(leafName, options).description(command.summary);
    for (const [name, option] of Object.entries(command.options))
      if (option.positional) subcommand.argument(`<${option.placeholder}>`, option.about);
      else subcommand.addOption(toCommanderOption(name, option));
    subcommand.option("--json", "print one JSON object on standard output");
    subcommand.option(
      "--folder <folder>",
      "folder of npm start, read while DATABASE_URL is not set (default .herald)",
    );
    subcommand.action(() => runAction(command, readRawOptions(command, subcommand)));
  }
  for (const group of program.commands.filter(({ commands }) => commands.length > 0)) {
    group.description(group.commands.map((subcommand) => subcommand.name()).join(", "));
    const byDefault = group.commands.find((subcommand) => subcommand.name() === DEFAULT_LEAF);
    if (byDefault) group.addHelpText("after", () => `\nWithout a command:\n\n${byDefault.helpInformation()}`);
  }
  return program;
}

function readRawOptions({ options }: Command, subcommand: CommanderCommand): RawOptions {
  const [positional] = Object.keys(options).filter((name) => options[name]?.positional);
  const [value] = subcommand.args;
  return { ...subcommand.opts(), ...(positional === undefined ? {} : { [positional]: value }) };
}

/** The name of a command beside its own subcommands, as `stats` has `stats failures`. */
const DEFAULT_LEAF = "totals";

/** Splits `client create` into the leaf `create` and its parent `client`, which is created on first use. */
function resolveParent(program: CommanderCommand, name: string): [string, CommanderCommand, CommandOptions] {
  const [group = "", leafName] = name.split(" ");
  const isGroup = COMMANDS.some((command) => command.name.startsWith(`${group} `));
  if (leafName === undefined && !isGroup) return [group, program, {}];
  const existing = program.commands.find((command) => command.name() === group);
  return [
    leafName ?? DEFAULT_LEAF,
    existing ?? program.command(group),
    { isDefault: leafName === undefined },
  ];
}

function toCommanderOption(name: string, { placeholder, about, required }: Option<unknown>): CommanderOption {
  const argument = placeholder === undefined ? "" : ` <${placeholder}>`;
  return new CommanderOption(`${toFlag(name)}${argument}`, about).makeOptionMandatory(required);
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
  option: Option<unknown>,
  { text, context }: { text: string; context: CommandContext },
): Promise<unknown> {
  try {
    return option.parse(option.secret && text === "-" ? await readSecret(context) : text);
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`${nameOf(name, option)} ${error.message}`);
    throw error;
  }
}

const nameOf = (name: string, { positional, placeholder }: Option<unknown>) =>
  positional ? placeholder : toFlag(name);

async function readSecret(context: CommandContext): Promise<string> {
  const line = await context.readLine();
  if (line === "") throw new UsageError("is read from standard input, which was empty");
  return line;
}

function errorMessage(error: unknown, context: CommandContext | undefined): string {
  if (error instanceof CommandError || error instanceof UsageError) return error.message;
  if (error instanceof ConfigError) return `${error.message}${context?.settingsFile ? "" : SETTINGS_HINT}`;
  if (error instanceof DatabaseUnavailable)
    return `${error.message}\n${context?.settingsFile ? notRunningHint(context.settingsFile) : DOCTOR_HINT}`;
  if (isMissingTable(error)) return "the database lacks a table: run herald migrate first";
  return error instanceof Error ? error.message : "failed";
}

const SETTINGS_HINT =
  "\nHerald was not started in this checkout: run npm start, name its folder with --folder, or set these variables";

const DOCTOR_HINT = "herald doctor checks the connection";
