import t, { type Test } from "tap";
import { newId } from "../../../src/runtime/ids.ts";
import {
  connectionClaims,
  insertConnection,
  listUncheckedConnections,
  markChecked,
} from "../../../src/store/ads/ad-connections.ts";
import type { QuarantinedUnit, UnitClaims } from "../../../src/store/processes/unit-claims.ts";
import { recordHeartbeat } from "../../../src/store/processes/workers.ts";
import { createClient } from "../../../src/store/tenants/clients.ts";
import { processUnits, type UnitWork } from "../../../workers/scheduler/units.ts";
import { openDatabase } from "../../fixtures/processes/schedulers.ts";

const TICK = new Date();
const CLAIMANT = { worker: "wrk_1", deadAfter: 10_000 };

type Columns = { deaths?: number; worker_id?: string | null };

/** Connections as units, and a run that processes them as the test says. */
async function open(t: Test) {
  const db = await openDatabase(t);
  const client = await createClient(db, "A client");
  const insert = async ({ deaths = 0, worker_id = null }: Columns = {}) => {
    const id = newId("con");
    const grant = { platformUserId: "1", tokenSealed: "k.AAAA", tokenHash: id, expiresAt: null };
    await insertConnection(db, client.id, { id, ...grant });
    await db.query("update ad_connections set deaths = $2, worker_id = $3 where id = $1", [
      id,
      deaths,
      worker_id,
    ]);
    return id;
  };
  const read = async (id: string): Promise<Columns> =>
    (await db.query<Columns>("select deaths, worker_id from ad_connections where id = $1", [id]))[0] ?? {};
  const quarantined: QuarantinedUnit[] = [];
  const run = (work: Partial<UnitWork<{ id: string }>> = {}) =>
    processUnits({
      db,
      claims: connectionClaims,
      claimant: CLAIMANT,
      maxConcurrent: 3,
      maxPerSecond: 1_000,
      list: (areSuspects) => listUncheckedConnections(db, TICK, { limit: 2, areSuspects }),
      async process([{ id } = { id: "" }]) {
        await markChecked(db, id, TICK);
        return true;
      },
      shouldStop: () => false,
      onQuarantined: (unit) => void quarantined.push(unit),
      ...work,
    });
  return { db, client, insert, read, quarantined, run };
}

t.test(
  "suspects are processed after all other units, one at a time, those with few deaths first",
  async (t) => {
    const { db, insert, read, run } = await open(t);
    const suspects = [await insert({ deaths: 4 }), await insert({ deaths: 2 }), await insert({ deaths: 3 })];
    const others = [await insert(), await insert({ deaths: 1 }), await insert(), await insert()];
    const begun: string[] = [];
    const running = new Set<string>();
    await run({
      async process([{ id } = { id: "" }]) {
        begun.push(id);
        running.add(id);
        // Several round trips, in which another unit would begin.
        for (let trip = 0; trip < 5; trip++)
          t.match(await read(id), { worker_id: "wrk_1" }, "the unit names its scheduler");
        if (suspects.includes(id)) t.same([...running], [id], "nothing else is in flight");
        await markChecked(db, id, TICK);
        running.delete(id);
        return true;
      },
    });
    t.same(begun.slice(0, others.length).sort(), others.sort());
    t.same(begun.slice(others.length), [suspects[1], suspects[2], suspects[0]]);
    for (const id of begun) t.same(await read(id), { deaths: 0, worker_id: null });
  },
);

t.test("a run counts a death of each unit that a dead scheduler left claimed", async (t) => {
  const { db, client, insert, read, quarantined, run } = await open(t);
  await recordHeartbeat(db, "wrk_alive", "scheduler");
  await db.query("update workers set heartbeat_at = now() + interval '1 hour'"); // alive, however slow the test is
  await recordHeartbeat(db, "wrk_silent", "scheduler");
  await db.query("update workers set heartbeat_at = now() - interval '11 seconds' where id = 'wrk_silent'");
  const cases: [Columns, number][] = [
    [{ worker_id: "wrk_silent" }, 1],
    [{ worker_id: "wrk_unknown", deaths: 3 }, 4],
    [{ worker_id: "wrk_unknown", deaths: 4 }, 5],
    [{ worker_id: "wrk_alive", deaths: 1 }, 1],
    [{ worker_id: "wrk_1", deaths: 1 }, 1],
    [{ deaths: 1 }, 1],
    [{ deaths: 5 }, 5],
  ];
  const ids: string[] = [];
  for (const [columns] of cases) ids.push(await insert(columns));
  const before = await Promise.all(ids.map(read));
  const uncertain = { ...CLAIMANT, deadAfter: null };
  await run({ claimant: uncertain, shouldStop: () => true });
  for (const [index, id] of ids.entries())
    t.equal((await read(id)).deaths, before[index]?.deaths, "a scheduler that cannot tell counts none");

  t.equal(await run({ shouldStop: () => true }), 2, "the number of quarantined units");
  t.same(quarantined, [{ clientId: client.id, id: ids[2], deaths: 5 }], "reported when it happens");
  for (const [index, [columns, deaths]] of cases.entries())
    t.equal((await read(ids[index] as string)).deaths, deaths, JSON.stringify(columns));
  t.same(await read(ids[0] as string), { deaths: 1, worker_id: null }, "the claim ends");
  t.equal(await run({ shouldStop: () => true }), 2);
  t.equal(quarantined.length, 1, "reported once");
});

t.test("a quarantined unit is not processed, not even when it was listed before", async (t) => {
  const { insert, run } = await open(t);
  const [quarantined, other] = [await insert({ deaths: 5 }), await insert()];
  const listed = [[{ id: quarantined }, { id: other }], []];
  const begun: string[] = [];
  await run({
    list: async () => listed.shift() ?? [],
    async process([{ id } = { id: "" }]) {
      begun.push(id);
      return true;
    },
  });
  t.same(begun, [other]);
});

t.test("a unit that is not completed keeps its deaths and is released", async (t) => {
  const { insert, read, run } = await open(t);
  const id = await insert({ deaths: 3 });
  await run({ process: async () => false });
  t.same(await read(id), { deaths: 3, worker_id: null });
  const fail = async () => {
    throw new Error("Postgres refused the row");
  };
  await t.rejects(run({ process: fail }), { message: "Postgres refused the row" });
  t.same(await read(id), { deaths: 3, worker_id: null });
  const claims: UnitClaims = {
    ...connectionClaims,
    async claim(...input) {
      await connectionClaims.claim(...input);
      throw new Error("the connection broke");
    },
  };
  await t.rejects(run({ claims }), { message: "the connection broke" });
  t.same(await read(id), { deaths: 3, worker_id: null }, "the answer to its claim was lost");
});
