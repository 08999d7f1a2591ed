import { Command, CommanderError, Option as Flag } from "commander";
import { ConfigError } from "../runtime/config/config.ts";
import { packageVersion } from "../runtime/package-root.ts";
import { DatabaseUnavailable, isMissingTable } from "../store/database/faults.ts";
import { CHANNEL_VERBS } from "./channel.ts";
import { CLIENT_VERBS } from "./client.ts";
import { CommandError, type Desk, type Option, UsageError, type Verb } from "./command.ts";
import { DEMO_VERB } from "./demo.ts";
import { DOCTOR_VERB } from "./doctor/doctor.ts";
import { EVENTS_VERBS } from "./events.ts";
import { KEY_VERBS } from "./key.ts";
import { MIGRATE_VERB } from "./migrate.ts";
import { toText } from "./print.ts";
import { QUEUE_VERBS } from "./queue.ts";
import { SECRETS_VERBS } from "./secrets.ts";
import { TERMS_VERBS } from "./terms.ts";
import { USER_VERBS } from "./user.ts";

/** The list of verbs: a new one adds its line here. */
const VERBS: readonly Verb[] = [
  MIGRATE_VERB,
  ...CLIENT_VERBS,
  ...USER_VERBS,
  ...KEY_VERBS,
  ...CHANNEL_VERBS,
  ...TERMS_VERBS,
  ...EVENTS_VERBS,
  ...QUEUE_VERBS,
  ...SECRETS_VERBS,
  DOCTOR_VERB,
  DEMO_VERB,
];

interface Streams {
  out(text: string): void;
  err(text: string): void;
}

/** Runs one command and answers its exit code: 0, 1 when it could not be done, 2 when it was not understood. */
export async function runCommand(words: readonly string[], desk: Desk, streams: Streams): Promise<number> {
  let exitCode = 0;
  const program = createProgram(streams, async (verb, given) => {
    const result = await verb.run(await valuesOf(verb, given, desk), desk);
    streams.out(`${given.json ? JSON.stringify(result) : (verb.show ?? toText)(result)}\n`);
    if (verb.failed?.(result)) exitCode = 1;
  });
  try {
    await program.parseAsync(words, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2; // it has said what is wrong
    streams.err(`herald: ${complaint(error, desk)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

type Given = Record<string, string | true | undefined>;
type Act = (verb: Verb, given: Given) => Promise<void>;

function createProgram({ out, err }: Streams, act: Act): Command {
  const program = new Command("herald")
    .description(
      "Looks after a Herald service: its clients, users, keys, channels, terms, events, queue, secrets and health.",
    )
    .version(packageVersion())
    // Its own options come first: further on, --version is that of the terms.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: out, writeErr: err })
    .showHelpAfterError("(add --help for what is possible)");
  for (const verb of VERBS) {
    const [word, parent] = placeOf(program, verb.name);
    const command = parent.command(word).description(verb.summary);
    for (const [name, option] of Object.entries(verb.options)) command.addOption(toFlag(name, option));
    command.option("--json", "one JSON object on standard output");
    command.action((given: Given) => act(verb, given));
  }
  for (const noun of program.commands.filter(({ commands }) => commands.length > 0))
    noun.description(noun.commands.map((command) => command.name()).join(", "));
  return program;
}

/** `client create` is the word `create` of the noun `client`, which is made at its first verb. */
function placeOf(program: Command, name: string): [string, Command] {
  const [noun = "", word] = name.split(" ");
  if (word === undefined) return [noun, program];
  const known = program.commands.find((command) => command.name() === noun);
  return [word, known ?? program.command(noun)];
}

const kebab = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function toFlag(name: string, { placeholder, about, required }: Option<unknown>): Flag {
  const word = placeholder === undefined ? "" : ` <${placeholder}>`;
  return new Flag(`--${kebab(name)}${word}`, about).makeOptionMandatory(required);
}

async function valuesOf({ options }: Verb, given: Given, desk: Desk): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(options)) {
    const text = given[name];
    if (text !== undefined) values[name] = await parsedValue(name, option, { text: String(text), desk });
  }
  return values;
}

async function parsedValue(
  name: string,
  { secret, parse }: Option<unknown>,
  { text, desk }: { text: string; desk: Desk },
): Promise<unknown> {
  try {
    return parse(secret && text === "-" ? await typedSecret(desk) : text);
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`--${kebab(name)} ${error.message}`);
    throw error;
  }
}

async function typedSecret(desk: Desk): Promise<string> {
  const line = await desk.readLine();
  if (line === "") throw new UsageError("is to be read from standard input, but nothing came");
  return line;
}

function complaint(error: unknown, { env }: Desk): string {
  if (error instanceof CommandError || error instanceof UsageError) return error.message;
  if (error instanceof ConfigError) return `${error.message}${env.DATABASE_URL ? "" : HOW_TO_LOAD}`;
  if (error instanceof DatabaseUnavailable) return `${error.message}\nherald doctor looks further`;
  if (isMissingTable(error)) return "the database lacks a table: run herald migrate first";
  return error instanceof Error ? error.message : "failed";
}

const HOW_TO_LOAD = `
The settings of a service started by npm start are loaded with: set -a; . .herald/env; set +a`;
