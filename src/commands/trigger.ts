import { readFile } from "node:fs/promises";
import { parseJson, stringifyJson, tryParseJson } from "../runtime/json/json.ts";
import type { ChannelDto } from "../schema/channels.ts";
import { DEMO_ASSETS } from "../schema/demo-assets.ts";
import { EVENT_TYPES, type EventType } from "../schema/enumerations.ts";
import { EVENT_MEANINGS, EVENT_PAYLOADS } from "../schema/events/event.ts";
import { callApi, faultText } from "./command-line/api-client.ts";
import {
  type BaseContext,
  type Command,
  CommandError,
  defineClientCommand,
  UsageError,
} from "./command-line/command.ts";
import { flag, OPTION, optional, optionalPositional, repeatable } from "./command-line/options.ts";
import { toColumns } from "./command-line/output.ts";

const MAX_COUNT = 1_000;
const anyText = (text: string) => text;

export const TRIGGER_COMMAND: Command = defineClientCommand({
  name: "trigger",
  summary: "Send a test event of any type, or let the sandbox receive a message",
  options: {
    type: optionalPositional({ placeholder: "TYPE", about: "such as message.received", parse: anyText }),
    set: repeatable({
      placeholder: "PATH=VALUE",
      about:
        "set a value inside data, such as data.from.id=5511988887777; digits stay text, true, false, null, {...} and [...] are JSON, and PATH:=VALUE is JSON always; repeatable",
      parse: parseAssignment,
    }),
    file: optional({
      placeholder: "FILE",
      about: "JSON file with the data, or - for standard input; --set changes it",
      parse: anyText,
    }),
    key: optional({ ...OPTION.eventKey, about: "which key the event has (default: the first of its type)" }),
    count: optional({
      placeholder: "NUMBER",
      about: `how many events to send, one after the other, at most ${MAX_COUNT} (default: 1)`,
      parse: parseCount,
    }),
    noWait: flag("do not wait for the first delivery"),
    list: flag("list the types with their keys and meaning"),
    inbound: optional({
      placeholder: "TYPE",
      about: "let the sandbox receive a message of this type, such as text, instead of sending a test event",
      parse: anyText,
    }),
    from: optional({ placeholder: "ID", about: "with --inbound: who wrote it", parse: anyText }),
    text: optional({ placeholder: "TEXT", about: "with --inbound text: the text", parse: anyText }),
    channel: optional({
      ...OPTION.channel,
      about: "with --inbound: the channel that receives it (default: the demo client's phone number)",
    }),
  },
  async run(values, context): Promise<Triggered> {
    checkCombination(values);
    if (values.list) return { data: catalogue() };
    if (values.inbound !== undefined)
      return { data: await times(values.count, () => receiveMessage(context, values)) };
    const body = await testEventOf(values, context);
    return { data: await times(values.count, () => sendTestEvent(context, body)) };
  },
  show: ({ data }) => (isCatalogue(data) ? toColumns(data, CATALOGUE_FIELDS) : data.map(toLine).join("\n")),
});

interface Triggered {
  data: readonly CatalogueRow[] | readonly TriggeredRow[];
}

/** A test event, or a message that the sandbox received. */
type TriggeredRow = SentEvent | ReceivedMessage;

interface TriggerValues {
  type: string | undefined;
  set: readonly Assignment[] | undefined;
  file: string | undefined;
  key: string | undefined;
  count: number | undefined;
  noWait: boolean | undefined;
  list: boolean | undefined;
  inbound: string | undefined;
  from: string | undefined;
  text: string | undefined;
  channel: string | undefined;
}

/** Options that belong to `--inbound`, and those that belong to a test event. */
const INBOUND_OPTIONS = ["from", "text", "channel"] as const;
const EVENT_OPTIONS = ["type", "set", "file", "key", "noWait"] as const;

function checkCombination(values: TriggerValues): void {
  const isGiven = (name: keyof TriggerValues) => values[name] !== undefined;
  if (values.list) return;
  if (isGiven("inbound")) {
    if (EVENT_OPTIONS.some(isGiven))
      throw new UsageError("--inbound is not combined with a type, --set, --file, --key or --no-wait");
    if (!isGiven("from")) throw new UsageError("--inbound needs --from, who wrote the message");
    if (isGiven("text") && values.inbound !== "text") throw new UsageError("--text is for --inbound text");
    return;
  }
  if (INBOUND_OPTIONS.some(isGiven)) throw new UsageError("--from, --text and --channel are for --inbound");
  if (!isGiven("type")) throw new UsageError("name a type; --list shows them");
}

async function times<R>(count = 1, work: () => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let done = 0; done < count; done++) results.push(await work());
  return results;
}

interface CatalogueRow {
  type: string;
  keys: readonly string[];
  meaning: string;
}

const CATALOGUE_FIELDS = ["type", "keys", "meaning"] as const;

const isCatalogue = (data: Triggered["data"]): data is readonly CatalogueRow[] =>
  data.some((row) => "meaning" in row);

const catalogue = (): CatalogueRow[] =>
  EVENT_TYPES.map((type) => ({ type, keys: keysOf(type), meaning: EVENT_MEANINGS[type] }));

/** The keys that the payload's schema allows; the key of a test event may be null too. */
function keysOf(type: EventType): readonly string[] {
  const { key } = EVENT_PAYLOADS[type].properties as {
    key: { enum?: string[]; anyOf?: { enum?: string[] }[] };
  };
  return key.enum ?? key.anyOf?.flatMap((variant) => variant.enum ?? []) ?? [];
}

interface TestEvent {
  type: string;
  key?: string;
  data: object;
  wait: boolean;
}

/** The answer of the API; without `--no-wait` it has the outcome of the first attempt. */
interface SentEvent {
  event_id: string;
  delivered?: boolean;
  status_code?: number | null;
  duration_ms?: number | null;
  error?: string | null;
}

async function testEventOf(values: TriggerValues, context: BaseContext): Promise<TestEvent> {
  const { type, key, file, set = [], noWait } = values;
  const data = file === undefined ? {} : await readData(file, context);
  for (const assignment of set) assign(data, assignment);
  return { type: type as string, ...(key === undefined ? {} : { key }), data, wait: !noWait };
}

const sendTestEvent = async (context: BaseContext, body: TestEvent): Promise<SentEvent> =>
  (await callApi(context.apiAccess(), "/api/webhooks/test", { method: "POST", body })) as SentEvent;

async function readData(file: string, context: BaseContext): Promise<Record<string, unknown>> {
  const content = file === "-" ? await context.readAll() : await readTextFile(file);
  const data = tryParseJson(content);
  if (!isObject(data))
    throw new CommandError(`${file === "-" ? "standard input" : file} is not a JSON object`);
  return data;
}

async function readTextFile(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${(error as { code?: string }).code}`);
  }
}

interface Assignment {
  path: readonly string[];
  value: unknown;
}

/** Words and brackets that are JSON without `:=`. Digits are not: a phone number would become a number. */
const PLAIN_JSON = /^(?:true|false|null|[[{].*)$/s;

function parseAssignment(text: string): Assignment {
  const at = text.indexOf("=");
  const isJson = text[at - 1] === ":";
  const words = text.slice(0, Math.max(isJson ? at - 1 : at, 0)).split(".");
  const path = words[0] === "data" ? words.slice(1) : words;
  if (path.length === 0 || path.includes(""))
    throw new UsageError("must be PATH=VALUE, such as data.from.id=5511988887777");
  const value = text.slice(at + 1);
  if (isJson) return { path, value: parseValue(value) };
  const parsed = PLAIN_JSON.test(value) ? tryParseJson(value) : undefined;
  return { path, value: parsed === undefined ? value : parsed };
}

function parseValue(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new UsageError("with := the value must be JSON");
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Sets a value at a path; creates the objects on the way. An item of an array is named by its index. */
function assign(target: object, { path: [name = "", ...rest], value }: Assignment): void {
  if (rest.length === 0) defineField(target, name, value);
  else {
    const found = ownField(target, name);
    const inner = typeof found === "object" && found !== null ? found : {};
    defineField(target, name, inner);
    assign(inner, { path: rest, value });
  }
}

const ownField = (target: object, name: string): unknown =>
  Object.hasOwn(target, name) ? (target as Record<string, unknown>)[name] : undefined;

/** Defines the field: an assignment to `__proto__` would set the prototype. */
function defineField(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}

interface ReceivedMessage {
  channel: string;
  /** False when the app is not subscribed to the channel's webhooks. */
  sent: boolean;
}

/** Lets the sandbox send the webhook of a received message to the service, so that all of its intake runs. */
async function receiveMessage(context: BaseContext, values: TriggerValues): Promise<ReceivedMessage> {
  const { inbound: type, from, text } = values;
  const { channel, isChat } = await findAsset(context, values.channel);
  const content = text === undefined ? {} : { content: isChat ? { body: text } : { text } };
  const response = await fetch(`${context.sandboxUrl()}/_sandbox/inbound`, {
    method: "POST",
    body: stringifyJson({ channel, from, type, ...content }),
  }).catch((error: unknown) => {
    throw new CommandError(`the sandbox does not answer: ${faultText(error)}`);
  });
  const answer = (tryParseJson(await response.text()) ?? {}) as {
    sent?: boolean;
    error?: { message?: string };
  };
  if (!response.ok)
    throw new CommandError(`the sandbox answers ${response.status}: ${answer.error?.message ?? ""}`);
  return { channel, sent: answer.sent === true };
}

interface Asset {
  /** The platform's id of the phone number, page or photo account. */
  channel: string;
  isChat: boolean;
}

async function findAsset(context: BaseContext, channelId: string | undefined): Promise<Asset> {
  if (channelId === undefined) return { channel: DEMO_ASSETS.phoneNumberId, isChat: true };
  const found = (await callApi(context.apiAccess(), `/api/channels/${channelId}`)) as ChannelDto;
  const channel = found.phone_number_id ?? found.photoapp_user_id ?? found.page_id;
  if (channel == null) throw new CommandError(`the channel ${channelId} has no id at its platform`);
  return { channel, isChat: found.platform === "chatapp" };
}

function toLine(row: TriggeredRow): string {
  if ("sent" in row)
    return row.sent
      ? `received by ${row.channel}`
      : `not received by ${row.channel}: the app is not subscribed to its webhooks`;
  const { event_id, delivered, status_code, duration_ms, error } = row;
  if (delivered === undefined) return `${event_id}  recorded`;
  if (delivered) return `${event_id}  delivered  ${status_code}  ${duration_ms} ms`;
  return `${event_id}  not delivered: ${error}`;
}

function parseCount(text: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > MAX_COUNT) throw new UsageError(`must be a number from 1 to ${MAX_COUNT}`);
  return count;
}
