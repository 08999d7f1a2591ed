import {
  Command as CommanderCommand,
  CommanderError,
  Option as CommanderOption,
  type CommandOptions,
} from "commander";
import { ConfigError } from "../runtime/config/config.ts";
import { packageVersion } from "../runtime/package-root.ts";
import { DatabaseUnavailable, isMissingTable } from "../store/database/faults.ts";
import {
  type BaseContext,
  type Command,
  type CommandContext,
  CommandError,
  notRunningHint,
  type Option,
  toFlag,
  UsageError,
} from "./command-line/command.ts";
import { toText } from "./command-line/output.ts";
import { VERB_GROUPS, type VerbGroup, wordOf } from "./verbs.ts";

interface OutputStreams {
  out(text: string): void;
  err(text: string): void;
}

/** Opens the contexts of commands. */
interface ContextSource {
  /** Reads the environment and the settings file; `folder` is the value of `--folder`. */
  open(folder: string | undefined): BaseContext;
  /** Adds what a command of an operator needs; loads the packages for Postgres and Redis. */
  openServices(context: BaseContext): Promise<CommandContext & { close(): Promise<void> }>;
}

/** Runs one command and returns its exit code: 0, 1 when the command failed, 2 for a usage error. */
export async function runCommand(
  args: readonly string[],
  contexts: ContextSource,
  streams: OutputStreams,
): Promise<number> {
  let exitCode = 0;
  let context: BaseContext | undefined;
  const runAction: CommandAction = async (command, rawOptions) => {
    context = openBase(contexts, rawOptions);
    const values = await parseOptions(command, rawOptions, context);
    const result = await runWithContext(command, values, { contexts, context, rawOptions, streams });
    if (result === undefined) return;
    streams.out(`${rawOptions.json ? JSON.stringify(result) : (command.show ?? toText)(result)}\n`);
    if (command.isFailure?.(result)) exitCode = 1;
  };
  try {
    const program = createProgram(streams, await loadNamedVerbs(args), runAction);
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2; // commander has printed the reason
    streams.err(`herald: ${errorMessage(error, context)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

function openBase(contexts: ContextSource, rawOptions: RawOptions): BaseContext {
  const folder = rawOptions.folder === undefined ? undefined : String(rawOptions.folder);
  const context = contexts.open(folder);
  if (folder !== undefined && context.settingsFile === null && !context.env.DATABASE_URL)
    throw new UsageError(`--folder ${folder} has no file env: npm start has not run there`);
  return context;
}

interface RunParts {
  contexts: ContextSource;
  context: BaseContext;
  rawOptions: RawOptions;
  streams: OutputStreams;
}

async function runWithContext(
  command: Command,
  values: Record<string, unknown>,
  { contexts, context, rawOptions, streams }: RunParts,
): Promise<object | undefined> {
  if (command.kind === "client")
    return command.run(values, context, {
      isJson: rawOptions.json === true,
      print: (line) => streams.out(`${line}\n`),
    });
  const services = await contexts.openServices(context);
  try {
    return await command.run(values, services);
  } finally {
    await services.close();
  }
}

/** Loads the verbs that the command line names; the others stay known by their names. */
async function loadNamedVerbs(args: readonly string[]): Promise<Map<VerbGroup, readonly Command[]>> {
  const [first, second] = args.filter((word) => !word.startsWith("-"));
  const group = VERB_GROUPS.find((candidate) => wordOf(candidate) === (first === "help" ? second : first));
  return new Map(group ? [[group, await group.load()]] : []);
}

type RawOptions = Record<string, string | readonly string[] | true | undefined>;
type CommandAction = (command: Command, rawOptions: RawOptions) => Promise<void>;

function createProgram(
  { out, err }: OutputStreams,
  loaded: ReadonlyMap<VerbGroup, readonly Command[]>,
  runAction: CommandAction,
): CommanderCommand {
  const program = new CommanderCommand("herald")
    .description(
      "Manages a Herald service: clients, users, keys, channels, terms, events, messages, audit log, queue, statistics, secrets, insights and health. As a client of the API, sends batches of messages, and shows, forwards and sends events during development.",
    )
    .version(packageVersion())
    // The program's own options come before the verb: after it, --version is the version of the terms.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: out, writeErr: err })
    .showHelpAfterError("(--help lists the commands and options)");
  for (const group of VERB_GROUPS) {
    const commands = loaded.get(group);
    if (commands) addCommands(program, commands, runAction);
    else addNames(program, group);
  }
  return program;
}

/** Adds a verb that is only listed. `--json` stands for its options. */
function addNames(program: CommanderCommand, group: VerbGroup): void {
  const entry = program.command(wordOf(group));
  if (group.summary === undefined) entry.description(group.names.map(leafOf).join(", "));
  else entry.description(group.summary).option("--json");
}

function addCommands(
  program: CommanderCommand,
  commands: readonly Command[],
  runAction: CommandAction,
): void {
  for (const command of commands) {
    const [leafName, parent, options] = resolveParent(program, command.name, commands);
    const subcommand = parent.command(leafName, options).description(command.summary);
    for (const [name, option] of Object.entries(command.options))
      if (option.positional) subcommand.argument(toArgument(option), option.about);
      else subcommand.addOption(toCommanderOption(name, option));
    subcommand.option("--json", "print JSON on standard output, one object a line");
    subcommand.option("--folder <folder>", FOLDER_ABOUT[command.kind]);
    subcommand.action(() => runAction(command, readRawOptions(command, subcommand)));
  }
  for (const group of program.commands.filter(({ commands: leaves }) => leaves.length > 0)) {
    group.description(group.commands.map((subcommand) => subcommand.name()).join(", "));
    const byDefault = group.commands.find((subcommand) => subcommand.name() === DEFAULT_LEAF);
    if (byDefault) group.addHelpText("after", () => `\nWithout a command:\n\n${byDefault.helpInformation()}`);
  }
}

const FOLDER_ABOUT: Readonly<Record<Command["kind"], string>> = {
  operator: "folder of npm start, read while DATABASE_URL is not set (default .herald)",
  client: "folder of npm start, read while HERALD_URL and HERALD_API_KEY are not set (default .herald)",
};

function readRawOptions({ options }: Command, subcommand: CommanderCommand): RawOptions {
  const [positional] = Object.keys(options).filter((name) => options[name]?.positional);
  const [value] = subcommand.args;
  return { ...subcommand.opts(), ...(positional === undefined ? {} : { [positional]: value }) };
}

/** The name of a command beside its own subcommands, as `stats` has `stats failures`. */
const DEFAULT_LEAF = "totals";

const leafOf = (name: string): string => name.split(" ")[1] ?? DEFAULT_LEAF;

/** Splits `client create` into the leaf `create` and its parent `client`, which is created on first use. */
function resolveParent(
  program: CommanderCommand,
  name: string,
  commands: readonly Command[],
): [string, CommanderCommand, CommandOptions] {
  const [group = "", leafName] = name.split(" ");
  const isGroup = commands.some((command) => command.name.startsWith(`${group} `));
  if (leafName === undefined && !isGroup) return [group, program, {}];
  const existing = program.commands.find((command) => command.name() === group);
  return [leafOf(name), existing ?? program.command(group), { isDefault: leafName === undefined }];
}

const toArgument = ({ placeholder, required }: Option<unknown>): string =>
  required ? `<${placeholder}>` : `[${placeholder}]`;

function toCommanderOption(
  name: string,
  { placeholder, about, required, repeatable }: Option<unknown>,
): CommanderOption {
  const argument = placeholder === undefined ? "" : ` <${placeholder}>`;
  const option = new CommanderOption(`${toFlag(name)}${argument}`, about).makeOptionMandatory(required);
  option.negate = false; // --no-wait is a flag of its own, not the opposite of --wait
  if (repeatable) option.argParser((text: string, former?: readonly string[]) => [...(former ?? []), text]);
  return option;
}

async function parseOptions(
  { options }: Command,
  rawOptions: RawOptions,
  context: BaseContext,
): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(options))
    for (const text of [rawOptions[name] ?? []].flat())
      values[name] = await parseOption(name, option, { text: String(text), former: values[name], context });
  return values;
}

async function parseOption(
  name: string,
  option: Option<unknown>,
  { text, former, context }: { text: string; former: unknown; context: BaseContext },
): Promise<unknown> {
  try {
    return option.parse(option.secret && text === "-" ? await readSecret(context) : text, former);
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`${nameOf(name, option)} ${error.message}`);
    throw error;
  }
}

const nameOf = (name: string, { positional, placeholder }: Option<unknown>) =>
  positional ? placeholder : toFlag(name);

async function readSecret(context: BaseContext): Promise<string> {
  const line = await context.readLine();
  if (line === "") throw new UsageError("is read from standard input, which was empty");
  return line;
}

function errorMessage(error: unknown, context: BaseContext | undefined): string {
  if (error instanceof CommandError || error instanceof UsageError) return error.message;
  if (error instanceof ConfigError)
    return `${error.message}\n${context?.settingsFile || context?.env.DATABASE_URL ? CORRECTION_HINT : SETTINGS_HINT}`;
  if (error instanceof DatabaseUnavailable)
    return `${error.message}\n${context?.settingsFile ? notRunningHint(context.settingsFile) : DOCTOR_HINT}`;
  if (isMissingTable(error)) return "the database lacks a table: run herald migrate first";
  return error instanceof Error ? error.message : "failed";
}

const CORRECTION_HINT = "herald doctor shows how to correct settings";

const SETTINGS_HINT =
  "Herald was not started in this checkout: run npm start, name its folder with --folder, or set these variables";

const DOCTOR_HINT = "herald doctor checks the connection";
