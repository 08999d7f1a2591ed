import t from "tap";
import { parseMessage, readMessages } from "../../src/console/app/event-stream.ts";

const STREAM = [
  "retry: 1000\nid: c0\n\n",
  'id: c1\nevent: event\ndata: {"text":\ndata: "Olá 🙂"}\n\n',
  "event: ping\nid: c2\n\n",
  ": a comment\n\n",
].join("");

const MESSAGES = [
  { id: "c0", data: undefined },
  { id: "c1", data: '{"text":\n"Olá 🙂"}' },
  { id: "c2", data: undefined },
  { id: undefined, data: undefined },
];

const toStream = (chunks: readonly Uint8Array[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });

async function collect(chunks: readonly Uint8Array[], signal = new AbortController().signal) {
  const messages: object[] = [];
  for await (const message of readMessages(toStream(chunks), signal)) messages.push(message);
  return messages;
}

t.test("a block is read by its fields", async (t) => {
  t.same(parseMessage("id: c1\nevent: event\ndata: {}"), { id: "c1", data: "{}" });
  t.same(parseMessage("data: a\ndata: b"), { id: undefined, data: "a\nb" });
  t.same(parseMessage("id: c1\ndatabase: x\nidea: y"), { id: "c1", data: undefined });
  t.same(parseMessage(": data: x"), { id: undefined, data: undefined });
});

t.test("a stream is read the same wherever its chunks end, also within a character", async (t) => {
  const bytes = new TextEncoder().encode(STREAM);
  for (let end = 0; end <= bytes.length; end++)
    t.same(await collect([bytes.slice(0, end), bytes.slice(end)]), MESSAGES, `after ${end} bytes`);
  t.same(await collect(Array.from(bytes, (byte) => Uint8Array.of(byte))), MESSAGES, "byte by byte");
});

t.test("a block that is cut off is not read", async (t) => {
  t.same(await collect([new TextEncoder().encode(STREAM.slice(0, -1))]), MESSAGES.slice(0, -1));
});

t.test("nothing is read after an abort", async (t) => {
  t.same(await collect([new TextEncoder().encode(STREAM)], AbortSignal.abort()), []);
});
