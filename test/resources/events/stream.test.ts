import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import t, { type Test } from "tap";
import { writeCursor } from "../../../src/domain/events/stream/cursor.ts";
import { createOpenStreams } from "../../../src/domain/events/stream/open-streams.ts";
import { createStreamPoller } from "../../../src/domain/events/stream/poller.ts";
import { bindCursors, bindToFilters } from "../../../src/http/lists.ts";
import { streamRoutes } from "../../../src/resources/events/stream-routes.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../../src/runtime/durations.ts";
import { JsonText } from "../../../src/runtime/json/json.ts";
import { createMetrics } from "../../../src/runtime/metrics.ts";
import { createSigner } from "../../../src/security/signatures-and-states.ts";
import type { Database, Statement } from "../../../src/store/database/database.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { createTestNotifier } from "../../fixtures/events/deliveries.ts";
import { openStream, type ReceivedItem } from "../../fixtures/events/event-stream.ts";
import {
  configureWebhook,
  makeEventAt,
  makeEvents,
  RECEIVED_TEXT,
  TEST_PAYLOAD,
} from "../../fixtures/events/events.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { openPatientRedis } from "../../fixtures/servers/redis.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const STREAM = "/api/events/stream";

const idsOf = (items: readonly ReceivedItem[]) => items.map(({ event_id }) => event_id);
const isoIn = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString();

/** A client with a key, and its requests for events. */
async function readerOf(api: Api & { wake(clientId: string): void }) {
  const tenant = await makeTenant(api);
  const key = await tenant.createKey("webhooks:manage");
  const read = (query = "", headers = key.headers) => api.call("GET", `${STREAM}?${query}`, { headers });
  return {
    tenant,
    key,
    read,
    /** Reads from now on; the reply's cursor. */
    begin: async (query = ""): Promise<string> => (await read(query)).body.cursor,
    async record(...drafts: Parameters<typeof makeEvents>[2][]) {
      const ids = await makeEvents(api, tenant, ...drafts.map((draft) => ({ ...RECEIVED_TEXT, ...draft })));
      api.wake(tenant.id);
      return ids;
    },
  };
}

t.test("event stream", async (t) => {
  const started = await startApi(t, { credentialTtlMs: 100 });
  const notifier = createTestNotifier({ redis: openPatientRedis(t, started.config) });
  const api = { ...started, wake: (clientId: string) => notifier.notify([clientId]) };
  const revoked = await openRevokedStream();

  /** Revoked at the beginning, looked at in the last test: a stream ends within seconds. */
  async function openRevokedStream() {
    const { tenant, key } = await readerOf(api);
    const stream = await openStream(t, api.address, { headers: key.headers });
    const owner = await tenant.createUser("owner");
    const { status } = await api.call("DELETE", `/api/keys/${key.id}`, { headers: owner.headers });
    t.equal(status, 204);
    return { stream, key };
  }

  t.test("the JSON form begins now and continues at the cursor", async (t) => {
    const { read, record } = await readerOf(api);
    await record({});
    const { body: first } = await read();
    t.same({ ...first, cursor: "" }, { data: [], cursor: "", has_more: false });
    const ids = await record({}, {}, {});
    const { body: page } = await read(`cursor=${first.cursor}&limit=2`);
    t.same(idsOf(page.data), ids.slice(0, 2));
    t.equal(page.has_more, true);
    const { body: rest } = await read(`cursor=${page.cursor}`);
    t.same(idsOf(rest.data), ids.slice(2));
    t.equal(rest.has_more, false);
    t.match(rest.data[0], {
      type: "message.received",
      key: "chatapp",
      path: "/chat/receiveMessage",
      replay: false,
      payload: { id: ids[2], recorded_at: /Z$/ },
    });
    t.same((await read(`cursor=${rest.cursor}`)).body.data, []);
    t.same(idsOf((await read(`cursor=${first.cursor}`)).body.data), ids, "a cursor can be used again");
  });

  t.test("a JSON request waits for the first event, or for its time", async (t) => {
    const { read, record, begin } = await readerOf(api);
    const cursor = await begin();
    const waiting = read(`cursor=${cursor}&wait=25&limit=1`);
    const ids = await record({}, {});
    const { body: found } = await waiting;
    t.same(idsOf(found.data), ids.slice(0, 1));
    t.equal(found.has_more, true);
    t.same(idsOf((await read(`cursor=${found.cursor}&wait=25`)).body.data), ids.slice(1));
    const { status, body } = await read("wait=1");
    t.equal(status, 200);
    t.same(body.data, []);
  });

  t.test("an event without key has no path and matches no filter by key", async (t) => {
    const { read, record, begin } = await readerOf(api);
    const [cursor, filtered] = [await begin(), await begin("keys=chatapp")];
    const ids = await record({ type: "webhook.test", key: null, channelId: null, data: {} });
    const { body } = await read(`cursor=${cursor}`);
    t.match(body.data, [{ event_id: ids[0], type: "webhook.test", key: null, path: null }]);
    t.same((await read(`keys=chatapp&cursor=${filtered}`)).body.data, []);
  });

  t.test("filters by type, key and channel apply to both forms", async (t) => {
    const { tenant, key, read, record } = await readerOf(api);
    const channelId = await makeChannel(api, tenant);
    const filters = {
      "types=message.received": [0, 2],
      "types=message.received,webhook.test": [0, 1, 2],
      "keys=photoapp": [2],
      [`channel_id=${channelId}`]: [0],
      "types=channel.updated": [],
    };
    const queries = Object.keys(filters);
    const [cursors, streams] = [
      await Promise.all(queries.map(async (query) => (await read(query)).body.cursor)),
      await Promise.all(
        queries.map((query) => openStream(t, api.address, { headers: key.headers, query: `?${query}` })),
      ),
    ];
    const ids = await record(
      { channelId },
      { type: "webhook.test", channelId: null, data: {} },
      { key: "photoapp" },
    );
    for (const [index, [query, expected]] of Object.entries(filters).entries()) {
      const matching = expected.map((place) => ids[place] as string);
      const { body } = await read(`${query}&cursor=${cursors[index]}`);
      t.same(idsOf(body.data), matching, query);
      await streams[index]?.untilItems(...matching);
    }
    for (const [index, expected] of Object.values(filters).entries()) {
      t.same(
        idsOf(streams[index]?.items ?? []),
        expected.map((place) => ids[place]),
      );
      streams[index]?.close();
    }
  });

  t.test("since begins with the events recorded at or after a time", async (t) => {
    const { tenant, read } = await readerOf(api);
    const now = Date.now();
    const times = [now - 3 * DAY, now - 2 * DAY, now - HOUR, now - SECOND];
    const ids: string[] = [];
    for (const time of times) ids.push(await makeEventAt(api, tenant, time, { payload: TEST_PAYLOAD }));
    const { body } = await read(`since=${new Date(times[1] as number).toISOString()}`);
    t.same(idsOf(body.data), ids.slice(1));
    t.equal(body.has_more, false);
    const { status } = await read(`since=${isoIn(-29 * DAY)}`);
    t.equal(status, 200);
  });

  t.test("a rare match costs bounded reads: data may be empty while has_more is true", async (t) => {
    const { record, read, begin } = await readerOf(api);
    const cursor = await begin("keys=photoapp");
    await record(...Array.from({ length: 1_100 }, () => ({})));
    const [id] = await record({ key: "photoapp" });
    const { body: first } = await read(`keys=photoapp&cursor=${cursor}`);
    t.match(first, { data: [], has_more: true });
    const { body: second } = await read(`keys=photoapp&cursor=${first.cursor}`);
    t.same(idsOf(second.data), [id]);
    const { body: waited } = await read(`keys=photoapp&cursor=${cursor}&wait=25`);
    t.same(idsOf(waited.data), [id], "a request that waits reads on");
  });

  t.test("invalid requests", async (t) => {
    const { tenant, key, read, begin } = await readerOf(api);
    const other = await readerOf(api);
    const [cursor, otherCursor] = [await begin(), await other.begin()];
    const filteredCursor = await begin("types=webhook.test");
    const invalid: [query: string, field: string][] = [
      ["types=message.received,nothing", "/types"],
      ["types=", "/types"],
      ["keys=mail", "/keys"],
      ["channel_id=5", "/channel_id"],
      [`cursor=${cursor}&since=${isoIn(-HOUR)}`, "/since"],
      [`since=${isoIn(MINUTE)}`, "/since"],
      [`since=${isoIn(-31 * DAY)}`, "/since"],
      ["since=yesterday", "/since"],
      ["cursor=x", "/cursor"],
      [`cursor=${cursor}x`, "/cursor"],
      [`cursor=${otherCursor}`, "/cursor"],
      [`cursor=${filteredCursor}`, "/cursor"],
      ["wait=26", "/wait"],
      ["wait=-1", "/wait"],
      ["limit=0", "/limit"],
      ["limit=101", "/limit"],
      ["after=x", "/after"],
    ];
    for (const [query, path] of invalid) {
      const { status, body } = await read(query);
      t.equal(status, 400, query);
      t.match(body, { error: "validation_failed", details: [{ path }] }, query);
    }
    for (const query of ["wait=1", "limit=1"]) {
      const { status } = await read(query, { ...key.headers, accept: "text/event-stream" });
      t.equal(status, 400, query);
    }
    const lastId = { ...key.headers, accept: "text/event-stream", "last-event-id": otherCursor };
    t.match((await read(`cursor=${cursor}`, lastId)).body, { details: [{ path: "/Last-Event-ID" }] });
    const otherChannel = await makeChannel(api, other.tenant);
    t.equal((await read(`channel_id=${otherChannel}`)).status, 404);
    const unscoped = await tenant.createKey("messages:send");
    t.equal((await read("", unscoped.headers)).status, 403);
    t.equal((await api.call("GET", STREAM)).status, 401);
    const reordered = await begin("types=webhook.test,message.received");
    const { status } = await read(`types=message.received,webhook.test&cursor=${reordered}`);
    t.equal(status, 200, "the order of filter words does not matter");
  });

  t.test("a cursor that is too old is refused with the oldest possible since", async (t) => {
    const { tenant, read, begin } = await readerOf(api);
    const signer = createSigner(api.config.ENCRYPTION_KEYS, "cursor");
    const cursors = bindCursors(signer, tenant.id, `get ${STREAM}`);
    const [key] = JSON.parse(cursors.decode(await begin(), "cursor"));
    const cursorAt = (time: number) => {
      const from = { at: time, floor: time, snapshot: { generation: "g", end: 5, running: [] } };
      return bindToFilters(cursors, JSON.parse(key)).encode(writeCursor({ from }));
    };
    const { status, body } = await read(`cursor=${cursorAt(Date.now() - 31 * DAY)}`);
    t.equal(status, 400);
    const [, since] = /oldest possible since is (\S+)$/.exec(body.details[0].message) ?? [];
    t.equal((await read(`since=${since}`)).status, 200);
    t.equal((await read(`cursor=${cursorAt(Date.now() - 29 * DAY)}`)).status, 200);
  });

  t.test("a stream sends blocks, and continues after Last-Event-ID", async (t) => {
    const { key, record, begin } = await readerOf(api);
    const [cursor, old] = [await begin(), isoIn(-HOUR)];
    await record({});
    const stream = await openStream(t, api.address, { headers: key.headers });
    t.equal(stream.status, 200);
    const headers = ["content-type", "cache-control", "x-accel-buffering", "content-encoding"];
    t.same(
      headers.map((name) => stream.headers.get(name)),
      ["text/event-stream; charset=utf-8", "no-store", "no", null],
    );
    const raw = new JsonText('{\n  "integer": 12020000000000070199,\r\n  "text": "a\\nb"\r}');
    const ids = await record({ raw }, {});
    await stream.untilItems(...ids);
    t.match(stream.blocks, [
      { retry: "1000", id: String, data: undefined },
      { event: "event", id: String },
      {},
    ]);
    t.same(idsOf(stream.items), ids, "it begins now");
    t.match(stream.blocks[1]?.data, /"integer": 12020000000000070199,\n/, "the payload is not changed");
    t.match(stream.items[0], { payload: { raw: { text: "a\nb" } } });
    stream.close();
    const [first, second] = stream.blocks.slice(1).map(({ id }) => id as string);
    const resumed = await openStream(t, api.address, {
      headers: { ...key.headers, "last-event-id": first as string },
      query: `?cursor=${cursor}&since=${old}`,
    });
    await resumed.untilItems(ids[1] as string);
    t.same(idsOf(resumed.items), ids.slice(1), "Last-Event-ID has precedence");
    resumed.close();
    const last = await openStream(t, api.address, { headers: key.headers, query: `?cursor=${second}` });
    const more = await record({});
    await last.untilItems(...more);
    t.same(idsOf(last.items), more);
    last.close();
    t.equal((await api.call("HEAD", STREAM, { headers: key.headers })).status, 200);
  });

  t.test("a client's events never reach another client", async (t) => {
    const [one, other] = [await readerOf(api), await readerOf(api)];
    const stream = await openStream(t, api.address, { headers: one.key.headers });
    const otherIds = await other.record({}, {});
    const ids = await one.record({});
    await stream.untilItems(...ids);
    t.same(idsOf(stream.items), ids);
    const { body } = await one.read(`since=${isoIn(-HOUR)}`);
    t.same(idsOf(body.data), ids);
    t.equal(otherIds.length, 2);
    stream.close();
  });

  t.test("a retried event is sent again with the cursor unchanged, also while its key is off", async (t) => {
    const { tenant, key, record } = await readerOf(api);
    const other = await readerOf(api);
    await configureWebhook(api, tenant, { disabledKeys: ["chatapp"] });
    const [id] = (await record({})) as [string];
    const stream = await openStream(t, api.address, { headers: key.headers });
    const filtered = await openStream(t, api.address, { headers: key.headers, query: "?keys=marketing" });
    const foreign = await openStream(t, api.address, { headers: other.key.headers });
    const retry = await api.call("POST", `/api/webhooks/events/${id}/retry`, { headers: key.headers });
    t.match(retry.body, { redispatched: false });
    await stream.untilItems(id);
    t.match(stream.items, [{ event_id: id, replay: true, payload: { id } }]);
    const [next] = (await record({})) as [string];
    await stream.untilItems(next);
    t.same(
      stream.items.map(({ event_id, replay }) => [event_id, replay]),
      [
        [id, true],
        [next, false],
      ],
    );
    t.same([filtered.items, foreign.items], [[], []]);
    for (const each of [stream, filtered, foreign]) each.close();
  });

  t.test("open streams and waiting requests are limited for a credential and a client", async (t) => {
    const { tenant, key } = await readerOf(api);
    const open = async (headers: Record<string, string>) => openStream(t, api.address, { headers });
    const streams = [];
    for (let count = 0; count < 5; count++) streams.push(await open(key.headers));
    t.same(new Set(streams.map(({ status }) => status)), new Set([200]));
    const refused = await open(key.headers);
    t.equal(refused.status, 429);
    t.equal(refused.headers.get("retry-after"), "5");
    const waiting = await api.call("GET", `${STREAM}?wait=5`, { headers: key.headers });
    t.match(waiting.body, { error: "rate_limited" });
    t.equal((await api.call("GET", STREAM, { headers: key.headers })).status, 200, "reading is not limited");
    for (let count = 0; count < 4; count++) {
      const { headers } = await tenant.createKey("webhooks:manage");
      for (let own = 0; own < 5; own++) streams.push(await open(headers));
    }
    t.same(new Set(streams.map(({ status }) => status)), new Set([200]));
    const further = await tenant.createKey("webhooks:manage");
    t.equal((await open(further.headers)).status, 429, "25 of the client");
    t.equal((await open((await readerOf(api)).key.headers)).status, 200, "other clients have their own");
    for (const stream of streams) stream.close();
    await until("the places are free", async () => {
      const stream = await open(key.headers);
      stream.close();
      return stream.status === 200;
    });
  });

  t.test("a stream ends after the key is revoked, and 401 follows", async (t) => {
    const { stream, key } = revoked;
    await until("the stream ends", stream.isEnded);
    t.equal((await openStream(t, api.address, { headers: key.headers })).status, 401);
  });
});

/** An API with only the stream, whose times, places and end the test controls. Counts the bytes of payloads that it reads. */
async function startStreams(t: Test) {
  const times = { pingIntervalMs: 50, maxStreamMs: HOUR };
  const stopping = new AbortController();
  t.teardown(() => stopping.abort());
  const counts = { places: 0, readBytes: 0 };
  const streamsOf = (db: Database) =>
    createOpenStreams({
      poller: createStreamPoller({ db, log: captureLog().log }),
      places: {
        async take() {
          counts.places += 1;
          return () => {
            counts.places -= 1;
          };
        },
      },
      signals: { publishReplay() {}, listen: async () => () => {} },
      metrics: createMetrics("web"),
      stopping: stopping.signal,
    });
  const api = await startApi(t, {
    routes: (db) => streamRoutes({ retentionDays: 30, times, streams: streamsOf(db) }),
    database: (real) => ({
      ...real,
      async query<Row extends object>(statement: Statement | string, values?: readonly unknown[]) {
        const rows = await real.query<Row & { payload?: string | null }>(statement, values);
        for (const { payload } of rows) counts.readBytes += payload?.length ?? 0;
        return rows;
      },
    }),
  });
  return { api, times, counts, stopping, reader: await readerOf({ ...api, wake() {} }) };
}

t.test("a stream sends pings with the cursor when it has moved, and ends after its time", async (t) => {
  const { api, times, counts, reader } = await startStreams(t);
  const open = () => openStream(t, api.address, { headers: reader.key.headers });
  const stream = await open();
  const hasPing = (isMoved: boolean) =>
    stream.blocks.some(({ comment, id }) => comment === "ping" && (id !== undefined) === isMoved);
  await until("a ping comes without id", () => hasPing(false));
  await reader.begin();
  await until("a ping has the id of a later read", () => hasPing(true));
  t.equal(counts.places, 1);
  stream.close();
  times.maxStreamMs = 10;
  await until("another stream ends by itself", (await open()).isEnded);
  await until("the places are free", () => counts.places === 0);
});

t.test("a slow reader makes the process read no more than the connection takes", async (t) => {
  const { api, counts, stopping, reader } = await startStreams(t);
  const { tenant, key, read, begin } = reader;
  const request = get(`${api.address}${STREAM}`, {
    headers: { ...key.headers, accept: "text/event-stream" },
  });
  t.teardown(() => request.destroy());
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const cursor = await begin();
  const draft = { type: "webhook.test" as const, key: null, data: { text: "x".repeat(4_000) } };
  const ids: string[] = [];
  while (ids.length < 5_000) {
    ids.push(...(await makeEvents(api, tenant, ...Array.from({ length: 100 }, () => draft))));
    response.read(500);
  }
  /** Bytes that are read beside those of another reader, which gets its events meanwhile. */
  const bytesBeside = async () => {
    const before = counts.readBytes;
    const { body } = await read(`cursor=${cursor}&limit=1`);
    return counts.readBytes - before - body.data[0].payload.data.text.length;
  };
  await until("the stream reads no more", async () => (await bytesBeside()) < 1_000);
  t.ok(counts.readBytes < 14_000_000, `${counts.readBytes} of 20,000,000 bytes`);
  t.equal(counts.places, 1);
  stopping.abort();
  await until("the stream is cut off although its reader does not take its end", () => counts.places === 0);
});
