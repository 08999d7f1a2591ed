import { getEventListeners } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { inspect } from "node:util";
import { Herald, type HeraldOptions, type StreamedEvent, ValidationError } from "@herald/sdk";
import t, { type Test } from "tap";
import { until } from "../fixtures/until.ts";

/** An event of the stream, as the API writes it. */
const block = (cursor: string, id: string, replay = false) =>
  `id: ${cursor}\nevent: event\ndata: ${JSON.stringify({ event_id: id, type: "webhook.test", replay, payload: { text: "Olá" } })}\n\n`;

type Connection = (response: ServerResponse) => void;

const start = (response: ServerResponse) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write("retry: 1000\nid: c0\n\n");
};

/** Sends the texts and then ends the connection, or keeps it open. */
const send =
  (texts: readonly string[], isEnded = true): Connection =>
  (response) => {
    start(response);
    for (const text of texts) response.write(text);
    if (isEnded) response.end();
  };

const refuse =
  (status: number, error: string): Connection =>
  (response) =>
    response
      .writeHead(status, { "retry-after": "0" })
      .end(JSON.stringify({ error, message: "no", request_id: "req_1" }));

/** A service that treats the connections to the stream in turn, the last of them for all others. */
async function startService(t: Test, connections: readonly Connection[]) {
  const queries: string[] = [];
  const open = new Set<ServerResponse>();
  const server = createServer(({ url = "", headers }, response) => {
    t.equal(headers.accept, "text/event-stream");
    const connection = connections[Math.min(queries.length, connections.length - 1)];
    queries.push(url.replace("/api/events/stream", ""));
    open.add(response);
    response.once("close", () => open.delete(response));
    connection?.(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.closeAllConnections());
  t.teardown(() => void server.close());
  const { port } = server.address() as { port: number };
  const clientOf = (options: Partial<HeraldOptions> = {}) =>
    new Herald({ baseUrl: `http://127.0.0.1:${port}`, apiKey: "svc_test_1", ...options });
  return { queries, open, clientOf };
}

/** Reads this many events and leaves the loop. */
async function take(stream: AsyncIterable<StreamedEvent>, count: number): Promise<string[]> {
  const ids: string[] = [];
  for await (const { event_id, cursor } of stream) {
    ids.push(`${event_id}@${cursor}`);
    if (ids.length === count) break;
  }
  return ids;
}

t.test("a stream that breaks goes on at its cursor, and leaves out repeats but not replays", async (t) => {
  const { queries, open, clientOf } = await startService(t, [
    send([block("c1", "evt_1"), block("c2", "evt_2").slice(0, 20)]),
    refuse(503, "overloaded"),
    send([block("c1", "evt_1"), block("c2", "evt_2"), ": ping\n\n", "id: c3\n\n"]),
    send([block("c4", "evt_1", true), block("c5", "evt_3").replaceAll("\n", "\r\n")], false),
  ]);
  const reasons: unknown[] = [];
  const stream = clientOf().events.stream(
    { types: ["webhook.test", "message.received"], since: "2026-11-01T00:00:00Z" },
    { onDisconnect: (reason) => reasons.push(reason) },
  );
  t.same(await take(stream, 4), ["evt_1@c1", "evt_2@c2", "evt_1@c4", "evt_3@c5"]);
  const types = "types=webhook.test%2Cmessage.received";
  t.same(queries, [
    `?${types}&since=2026-11-01T00%3A00%3A00Z`,
    `?${types}&cursor=c1`,
    `?${types}&cursor=c1`,
    `?${types}&cursor=c3`,
  ]);
  t.equal(reasons.length, 3);
  await until("the connection is closed when the caller leaves the loop", () => open.size === 0);
});

t.test("characters that arrive in parts are put together", async (t) => {
  const bytes = Buffer.from(block("c1", "evt_1"));
  const { clientOf } = await startService(t, [
    async (response) => {
      start(response);
      for (const byte of bytes) await new Promise((resolve) => response.write(Buffer.from([byte]), resolve));
    },
  ]);
  for await (const { payload } of clientOf().events.stream()) {
    t.same(payload, { text: "Olá" });
    break;
  }
});

t.test("a refusal ends the stream, also after it was connected", async (t) => {
  const { queries, clientOf } = await startService(t, [
    send([block("c1", "evt_1")]),
    refuse(400, "validation_failed"),
  ]);
  const stream = clientOf().events.stream();
  t.match(await stream.next(), { value: { event_id: "evt_1" } });
  await t.rejects(stream.next(), ValidationError);
  t.equal(queries.length, 2);
});

t.test("an event that is not JSON ends the stream, and the error does not quote it", async (t) => {
  const broken = block("c1", "evt_1").replace("{", "{secret");
  const { queries, clientOf } = await startService(t, [send([broken])]);
  const error = await clientOf()
    .events.stream()
    .next()
    .catch((error: unknown) => error);
  t.match(error, { code: "unexpected_response" });
  t.notMatch(inspect(error, { showHidden: true }), "secret");
  t.equal(queries.length, 1);
});

t.test("a first connection that fails is rejected after maxRetries", async (t) => {
  const { queries, clientOf } = await startService(t, [refuse(503, "overloaded")]);
  await t.rejects(clientOf({ maxRetries: 2 }).events.stream().next(), { code: "overloaded" });
  t.equal(queries.length, 3);
  const html: Connection = (response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>");
  const other = await startService(t, [html]);
  await t.rejects(other.clientOf().events.stream().next(), { code: "unexpected_response" });
});

t.test("a signal ends the stream without an error, and closes its connection", async (t) => {
  const { open, clientOf } = await startService(t, [send([block("c1", "evt_1")], false)]);
  const controller = new AbortController();
  const ids: string[] = [];
  for await (const { event_id } of clientOf().events.stream({}, { signal: controller.signal })) {
    ids.push(event_id);
    controller.abort();
  }
  t.same(ids, ["evt_1"]);
  await until("the connection is closed", () => open.size === 0);
  t.same(await take(clientOf().events.stream({}, { signal: controller.signal }), 1), []);
});

t.test("a stream that ends at once for ever is opened less and less often", async (t) => {
  const { clientOf } = await startService(t, [
    ...Array(4).fill(send([])),
    send([": ping\n\n"]),
    (response) => response.writeHead(429, { "retry-after": "3000000" }).end(),
    send([]),
  ]);
  const delays: number[] = [];
  const controller = new AbortController();
  const { setTimeout: wait } = globalThis;
  const onDisconnect = () => {
    if (delays.length === 6) return controller.abort();
    // The next timer is the wait before the next connection.
    globalThis.setTimeout = ((callback: () => void, ms: number) => {
      globalThis.setTimeout = wait;
      delays.push(ms);
      return wait(callback, 0);
    }) as typeof setTimeout;
  };
  t.intercept(Math, "random", { value: () => 1 });
  await take(clientOf().events.stream({}, { signal: controller.signal, onDisconnect }), 1);
  t.same(delays.slice(0, 5), [500, 1_000, 2_000, 4_000, 500]);
  t.equal(delays[5], 2 ** 31 - 1, "a longer time would be over at once");
  t.same(getEventListeners(controller.signal, "abort"), []);
});
