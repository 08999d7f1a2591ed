import {
  type BaseContext,
  type Command,
  type CommandOutput,
  defineClientCommand,
  UsageError,
} from "./command-line/command.ts";
import { flag, OPTION, optional, repeatable } from "./command-line/options.ts";
import { createEventQueue, createRepeatFilter } from "./listening/event-queue.ts";
import { followStream, type StreamedEvent } from "./listening/event-stream.ts";
import { createForwarder, type Forward, signingSecretOf } from "./listening/forwarder.ts";
import { indentJson, type ShownEvent, toJsonLine, toLine } from "./listening/lines.ts";
import { openResumeFile, resumeFilePath } from "./listening/resume-file.ts";

const DEFAULT_CONCURRENCY = 10;
const MAX_CONCURRENCY = 100;

export const LISTEN_COMMAND: Command = defineClientCommand({
  name: "listen",
  summary: "Show a client's events as they are recorded, and forward them to a server on this machine",
  options: {
    forwardTo: optional({
      placeholder: "URL",
      about: "post each event to this address and its path, signed like a delivery",
      parse: parseTarget,
    }),
    types: optional(words("TYPES", "only these types, comma-separated, such as message.received")),
    keys: optional(words("KEYS", "only these keys, comma-separated, such as chatapp,marketing")),
    channel: optional({ ...OPTION.channel, about: "only events of this channel" }),
    since: optional({
      placeholder: "TIME",
      about: "begin with the events recorded since: a duration before now such as 10m, or a time",
      parse: parseStart,
    }),
    header: repeatable({
      placeholder: "HEADER",
      about: 'add a header such as "Authorization: Bearer x" to forwarded events; repeatable',
      parse: parseHeader,
    }),
    concurrency: optional({
      placeholder: "NUMBER",
      about: `how many events are forwarded at once; those of a channel keep their order (default: ${DEFAULT_CONCURRENCY})`,
      parse: parseConcurrency,
    }),
    resume: flag("begin where the last run with the same key, address and filters stopped"),
    printSecret: flag("print the secret that signs forwarded events, and exit"),
  },
  async run({ printSecret, ...values }, context, output) {
    const { key } = context.apiAccess();
    if (printSecret) return { secret: signingSecretOf(key) };
    await listen(values, context, output);
    return undefined;
  },
  show: ({ secret }) => secret,
});

interface ListenValues {
  forwardTo: URL | undefined;
  types: string | undefined;
  keys: string | undefined;
  channel: string | undefined;
  since: string | undefined;
  header: readonly (readonly [string, string])[] | undefined;
  concurrency: number | undefined;
  resume: boolean | undefined;
}

/** Runs until it is interrupted, `q` is pressed or the API refuses the stream. */
async function listen(values: ListenValues, context: BaseContext, output: CommandOutput): Promise<void> {
  const access = context.apiAccess();
  const { forwardTo: target, since, concurrency = DEFAULT_CONCURRENCY } = values;
  const filters = filtersOf(values);
  const identity = [access.key, access.url, target?.href ?? null, filters];
  const file = openResumeFile(resumeFilePath(context.env, identity), context.say);
  const cursor = values.resume ? file.read() : undefined;
  if (values.resume && cursor === undefined)
    context.say("There is no earlier run to resume: this one begins as without --resume");

  const stop = new AbortController();
  const { signal } = stop;
  context.interruptSignal().addEventListener("abort", () => stop.abort());
  const secret = signingSecretOf(access.key);
  const headers = Object.fromEntries(values.header ?? []);
  const forward = target && createForwarder({ target, secret, headers, signal, say: context.say });
  const handler = createHandler({ forward, context, output });
  const queue = createEventQueue<StreamedEvent>({
    concurrency,
    laneOf: ({ channelId, key }) => channelId ?? `key ${key}`,
    handle: handler.handle,
    signal,
    onProgress: file.store,
  });
  for (const line of describeRun({ ...values, address: access.url, isResumed: cursor !== undefined, secret }))
    context.say(line);
  const releaseKeys = context.onKeyPress(createKeyActions({ handler, stop, context }));
  if (releaseKeys) context.say("Keys: r forwards the last event again, d shows its payload, q quits");
  try {
    const isRepeated = createRepeatFilter();
    const query = { ...filters, ...(since === undefined ? {} : { since }) };
    let isConnected = false;
    for await (const part of followStream({ access, query, cursor, signal, say: context.say })) {
      if (!isConnected) context.say("Connected: waiting for events");
      isConnected = true;
      const isNew = part.event && (part.event.isReplay || !isRepeated(part.event.eventId));
      await queue.add(part.cursor, isNew ? part.event : undefined);
    }
  } finally {
    stop.abort();
    await queue.idle();
    file.flush();
    releaseKeys?.();
  }
}

const filtersOf = ({ types, keys, channel }: ListenValues): Record<string, string> => ({
  ...(types === undefined ? {} : { types }),
  ...(keys === undefined ? {} : { keys }),
  ...(channel === undefined ? {} : { channel_id: channel }),
});

interface HandlerParts {
  forward: Forward | undefined;
  context: BaseContext;
  output: CommandOutput;
}

interface Handler {
  handle(event: StreamedEvent): Promise<boolean>;
  /** The event that was handled last. */
  last(): StreamedEvent | undefined;
  /** Forwards the last event once more. */
  repeatLast(): Promise<void>;
}

/** Forwards events, if they are to be forwarded, and prints a line for each. */
function createHandler({ forward, context, output }: HandlerParts): Handler {
  let last: { event: StreamedEvent; attempts: number } | undefined;
  const print = (shown: ShownEvent) =>
    output.print(output.isJson ? toJsonLine(shown) : toLine(shown, context.hasColours));
  return {
    async handle(event) {
      const answer = await forward?.(event, 1);
      if (forward && answer === undefined) return false;
      print({ event, at: new Date(), answer, isAgain: false });
      last = { event, attempts: 1 };
      return true;
    },
    last: () => last?.event,
    async repeatLast() {
      if (!forward) return context.say("Nothing is forwarded: r needs --forward-to");
      if (!last) return context.say("There is no event yet");
      last.attempts += 1;
      const { event, attempts } = last;
      const answer = await forward(event, attempts);
      if (answer) print({ event, at: new Date(), answer, isAgain: true });
    },
  };
}

interface KeyParts {
  handler: Handler;
  stop: AbortController;
  context: BaseContext;
}

function createKeyActions({ handler, stop, context }: KeyParts): (key: string) => void {
  return (key) => {
    if (key === "q") stop.abort();
    if (key === "r") void handler.repeatLast();
    if (key === "d") {
      const event = handler.last();
      context.say(event ? indentJson(event.payload) : "There is no event yet");
    }
  };
}

interface RunDescription extends ListenValues {
  address: string;
  isResumed: boolean;
  secret: string;
}

function describeRun(run: RunDescription): string[] {
  const { address, types, keys, channel, since, forwardTo, isResumed, secret } = run;
  const filters = [types, keys, channel].filter((filter) => filter !== undefined);
  const start = isResumed ? "where the last run stopped" : (since ?? "now");
  return [
    `Listening to ${filters.length === 0 ? "all events" : `events of ${filters.join(", ")}`} at ${address}, from ${start}`,
    "Deliveries to your webhook_url go on as before",
    ...(forwardTo
      ? [`Forwarding to ${forwardTo.origin}${forwardTo.pathname}, signed with ${secret}`]
      : ["Events are only shown: --forward-to URL posts them to your handler"]),
  ];
}

/** The API checks the words: it may know more than this version. */
function words(placeholder: string, about: string) {
  const parse = (text: string) => {
    const list = text.split(",").map((word) => word.trim());
    if (list.includes("")) throw new UsageError("must be words separated by commas");
    return [...new Set(list)].sort().join(",");
  };
  return { placeholder, about, parse };
}

/** `3000` and `localhost:3000/hooks` are complete enough for an address on this machine. */
function parseTarget(text: string): URL {
  const address = /^\d+$/.test(text) ? `http://localhost:${text}` : text;
  const url = address.includes("://") ? address : `http://${address}`;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw new UsageError("must be an address such as http://localhost:3000");
  return new URL(url);
}

function parseStart(text: string): string {
  if (!/^\d+[a-z]$/.test(text)) return OPTION.time.parse(text);
  return new Date(Date.now() - OPTION.duration.parse(text)).toISOString();
}

function parseHeader(text: string): readonly [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([ -~\x80-\xff]*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new UsageError('must be a name and a value such as "Authorization: Bearer x"');
  return [name.toLowerCase(), value.trim()];
}

function parseConcurrency(text: string): number {
  const number = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > MAX_CONCURRENCY)
    throw new UsageError(`must be a number from 1 to ${MAX_CONCURRENCY}`);
  return number;
}
