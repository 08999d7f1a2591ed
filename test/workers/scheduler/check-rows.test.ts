import t, { type Test } from "tap";
import { newId } from "../../../src/runtime/ids.ts";
import {
  claimUncheckedConnection,
  endConnectionCheck,
  insertConnection,
} from "../../../src/store/ads/ad-connections.ts";
import { createClient } from "../../../src/store/tenants/clients.ts";
import { checkRows } from "../../../workers/scheduler/check-rows.ts";
import { openDatabase } from "../../fixtures/processes/schedulers.ts";
import { until } from "../../fixtures/until.ts";

/** Connections, and runs that check them as the test says. Each run is one tick. */
async function open(t: Test) {
  const db = await openDatabase(t);
  const client = await createClient(db, "A client");
  const insert = async (deaths = 0) => {
    const id = newId("con");
    const grant = { platformUserId: "1", tokenSealed: "k.AAAA", tokenHash: id, expiresAt: null };
    await insertConnection(db, client.id, { id, ...grant });
    await db.query("update ad_connections set deaths = $2 where id = $1", [id, deaths]);
    return id;
  };
  const readDeaths = async (id: string) =>
    (await db.query<{ deaths: number }>("select deaths from ad_connections where id = $1", [id]))[0]?.deaths;
  let ticks = 0;
  const run = (check: (id: string) => Promise<void>) => {
    const tick = new Date(Date.UTC(2026, 0, 1, 0, ++ticks));
    async function* claim(areSuspects: boolean) {
      for (;;) {
        const row = await claimUncheckedConnection(db, tick, areSuspects);
        if (!row) return;
        yield row.id;
      }
    }
    return checkRows({ claim, check, shouldStop: () => false, maxPerSecond: 10_000 });
  };
  const end = (id: string) => endConnectionCheck(db, id, true);
  return { insert, readDeaths, run, end };
}

t.test("suspects are checked after all other rows, one at a time, those with few deaths first", async (t) => {
  const { insert, readDeaths, run, end } = await open(t);
  const [twice, once] = [await insert(2), await insert(1)];
  const quarantined = await insert(3);
  const others = [await insert(), await insert(), await insert(), await insert(), await insert()];
  const begun: string[] = [];
  const running = new Set<string>();
  let maxRunning = 0;
  await run(async (id) => {
    begun.push(id);
    running.add(id);
    maxRunning = Math.max(maxRunning, running.size);
    await until("four were in flight", () => begun.length >= 4);
    // Several round trips, in which another check would begin.
    for (let trip = 0; trip < 5; trip++) t.ok(Number(await readDeaths(id)) > 0, "it counts a begun check");
    if (id === once || id === twice) t.same([...running], [id], "nothing else is in flight");
    await end(id);
    running.delete(id);
  });
  t.equal(maxRunning, 4);
  t.same(begun.slice(0, others.length).sort(), others.sort());
  t.same(begun.slice(others.length), [once, twice]);
  for (const id of begun) t.equal(await readDeaths(id), 0);
  t.equal(await readDeaths(quarantined), 3);
});

t.test("a check that throws ends the run after the checks in flight", async (t) => {
  const { insert, run, end } = await open(t);
  for (let count = 0; count < 8; count++) await insert();
  const begun: string[] = [];
  const ended: string[] = [];
  const running = run(async (id) => {
    begun.push(id);
    await until("four are in flight", () => begun.length >= 4);
    if (id === begun[0]) throw new Error("Postgres refused the row");
    await end(id);
    ended.push(id);
  });
  await t.rejects(running, { message: "Postgres refused the row" });
  t.equal(ended.length, begun.length - 1, "those in flight have ended");
  t.ok(begun.length < 8, "no further ones are started");
});
