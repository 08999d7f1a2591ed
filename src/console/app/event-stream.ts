import type { StreamItemDto, StreamPageDto } from "../../../sdk/src/generated/types.ts";
import { type CallOptions, call, send, toProblem } from "./api.ts";

/**
 * How the console follows new events:
 * - `live`: the stream is open;
 * - `connecting`: the stream is being opened, for the first time or again;
 * - `polling`: no stream can be opened (too many are open, or a proxy does not let it through); new events are asked for;
 * - `offline`: neither works;
 * - `stopped`: the tab is hidden, the reader was stopped, or the session has ended.
 */
export type StreamState = "live" | "connecting" | "polling" | "offline" | "stopped";

interface StreamOptions {
  query: NonNullable<CallOptions["query"]>;
  onItems(items: readonly StreamItemDto[]): void;
  onState(state: StreamState): void;
}

const POLL_INTERVAL_MS = 5_000;
const POLL_TIMEOUT_MS = 20_000;
const RECONNECT_MS = 1_000;
const MAX_RECONNECT_MS = 15_000;

/** A proxy that cuts each stream is taken for one that lets none through. */
const MAX_STREAM_FAILURES = 2;

/** After so many polls the stream is tried again. */
const POLLS_BEFORE_STREAM = 6;

/** Without anything for this long, the connection is taken for dead: the server sends a ping every 15 s. */
const SILENCE_MS = 40_000;

/** The server sends the first message at once: without it, a proxy holds the stream back. */
const FIRST_MESSAGE_MS = 5_000;

const STREAM_PATH = "/api/events/stream";

/** Follows the events from now on until it is stopped, and continues after the last one it has seen whatever breaks. */
export function followEvents({ query, onItems, onState }: StreamOptions): () => void {
  const stopped = new AbortController();
  let cursor: string | undefined;
  let failures = 0;
  let visit: AbortController | undefined;

  /** Throws a Silence when a proxy holds the stream back. */
  async function readStream(signal: AbortSignal): Promise<void> {
    const headers: Record<string, string> = { accept: "text/event-stream" };
    if (cursor !== undefined) headers["last-event-id"] = cursor;
    const deadline = startDeadline(signal, FIRST_MESSAGE_MS);
    try {
      const response = await send("GET", STREAM_PATH, { query, headers, signal: deadline.signal });
      if (!response.body) throw new Silence();
      for await (const { id, data } of readMessages(response.body, deadline.signal)) {
        deadline.clear();
        failures = 0;
        onState("live");
        if (id !== undefined) cursor = id;
        if (data !== undefined) onItems([JSON.parse(data) as StreamItemDto]);
      }
    } catch (thrown) {
      throw deadline.hasPassed() ? new Silence() : thrown;
    } finally {
      deadline.clear();
    }
  }

  async function poll(signal: AbortSignal): Promise<void> {
    for (let polls = 0; polls < POLLS_BEFORE_STREAM && !signal.aborted; polls += 1) {
      const deadline = startDeadline(signal, POLL_TIMEOUT_MS);
      const page = await call<StreamPageDto>("GET", STREAM_PATH, {
        query: { ...query, cursor },
        signal: deadline.signal,
      }).finally(deadline.clear);
      onState("polling");
      cursor = page.cursor;
      if (page.data.length > 0) onItems(page.data);
      if (!page.has_more) await pause(POLL_INTERVAL_MS, signal);
    }
  }

  const hasPolled = (signal: AbortSignal): Promise<boolean> =>
    poll(signal).then(
      () => true,
      () => false,
    );

  async function follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      onState("connecting");
      try {
        await readStream(signal);
      } catch (thrown) {
        if (signal.aborted) return;
        const { status } = toProblem(thrown);
        if (status === 401 || status === 403) return stop();
        if (status === 400) cursor = undefined; // the cursor is too old: begin anew
        failures += 1;
        const isRefused = status === 429 || status === 503 || thrown instanceof Silence;
        if (isRefused || failures > MAX_STREAM_FAILURES) {
          if (await hasPolled(signal)) continue;
          if (!signal.aborted) onState("offline");
        }
      }
      await pause(Math.min(RECONNECT_MS * 2 ** failures, MAX_RECONNECT_MS), signal);
    }
  }

  /** A hidden tab gives its place back: a credential may have few streams. It continues where it was. */
  function followWhileVisible(): void {
    visit?.abort();
    if (document.visibilityState === "hidden") {
      onState("stopped");
    } else {
      visit = new AbortController();
      void follow(visit.signal);
    }
  }

  function stop(): void {
    stopped.abort();
    visit?.abort();
    onState("stopped");
  }

  document.addEventListener("visibilitychange", followWhileVisible, { signal: stopped.signal });
  followWhileVisible();
  return stop;
}

class Silence extends Error {}

/** A signal that aborts with the given one, and after a time unless it is cleared. */
function startDeadline(signal: AbortSignal, ms: number) {
  const controller = new AbortController();
  let hasPassed = false;
  const abort = () => controller.abort();
  const timer = setTimeout(() => {
    hasPassed = true;
    abort();
  }, ms);
  signal.addEventListener("abort", abort, { once: true });
  return { signal: controller.signal, hasPassed: () => hasPassed, clear: () => clearTimeout(timer) };
}

interface StreamMessage {
  id: string | undefined;
  data: string | undefined;
}

/** Reads server-sent events. EventSource cannot be used, because it sends no headers. */
export async function* readMessages(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<StreamMessage> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    while (!signal.aborted) {
      const chunk = await withinSilence(reader.read());
      if (chunk.done) return;
      text += decoder.decode(chunk.value, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) yield parseMessage(block);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

export function parseMessage(block: string): StreamMessage {
  const lines = block.split("\n");
  const valuesOf = (field: string) =>
    lines.filter((line) => line.startsWith(`${field}: `)).map((line) => line.slice(field.length + 2));
  const data = valuesOf("data");
  return { id: valuesOf("id").at(-1), data: data.length > 0 ? data.join("\n") : undefined };
}

function withinSilence<T>(read: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("the stream is silent")), SILENCE_MS);
  });
  return Promise.race([read, silence]).finally(() => clearTimeout(timer));
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", end);
      resolve();
    }, ms);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener("abort", end, { once: true });
  });
