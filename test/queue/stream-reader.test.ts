import { randomUUID } from "node:crypto";
import t from "tap";
import { createStreamReader } from "../../src/queue/stream-reader.ts";
import { createStreams } from "../../src/queue/streams.ts";
import { newId } from "../../src/runtime/ids.ts";
import { startTcpBackend } from "../fixtures/events/backends.ts";
import { connectRedis, createReaderFactory } from "../fixtures/servers/redis.ts";
import { allocateRedisDatabase } from "../fixtures/servers/servers.ts";
import { until } from "../fixtures/until.ts";

const KEY = "{outbound:0}";
const refOf = () => ({ clientId: randomUUID(), id: newId("msg") });

t.test(
  "a read waits for entries, returns at most the requested number, and returns none after its timeout",
  async (t) => {
    const url = await allocateRedisDatabase();
    const streams = createStreams(await connectRedis(t, url), 1);
    await streams.createGroup(KEY);
    const reader = createStreamReader(KEY, createReaderFactory(url), { block: 60, slack: 20_000 });
    t.teardown(() => reader.close());
    t.same(await reader.read(5), []);
    const patient = createStreamReader(KEY, createReaderFactory(url), { block: 20_000, slack: 20_000 });
    t.teardown(() => patient.close());
    const reading = patient.read(1);
    const refs = [refOf(), refOf(), refOf()];
    await streams.add("outbound", refs);
    t.match(await reading, refs.slice(0, 1));
    const two = await reader.read(2);
    t.match(two, refs.slice(1));
    t.equal(two.length, 2);
  },
);

t.test("a hanging read times out, and the next one gets a fresh connection", async (t) => {
  const silent = await startTcpBackend(t, () => {});
  const reader = createStreamReader(KEY, createReaderFactory(`redis://127.0.0.1:${silent.port}`), {
    block: 10,
    slack: 90,
  });
  await t.rejects(reader.read(1), /did not end/);
  await t.rejects(reader.read(1), /did not end/);
  await until("each read has connected", () => silent.connections() === 2);
  reader.close();
});

t.test("a read fails while Redis is unavailable, and the reader can be closed", async (t) => {
  const reader = createStreamReader(KEY, createReaderFactory("redis://127.0.0.1:1"), {
    block: 10,
    slack: 90,
  });
  await t.rejects(reader.read(1));
  reader.close();
  reader.close();
});
