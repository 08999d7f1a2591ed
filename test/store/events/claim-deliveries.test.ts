import { randomUUID } from "node:crypto";
import t from "tap";
import type { Queryable } from "../../../src/store/database/database.ts";
import { claimDeliveries, finishDeliveries } from "../../../src/store/events/claim-deliveries.ts";
import type { DeliveryRef } from "../../../src/store/events/delivery-refs.ts";
import { retryEvent } from "../../../src/store/events/replays.ts";
import { unqueue } from "../../../src/store/events/sweep-deliveries.ts";
import { deleteClient } from "../../../src/store/tenants/clients.ts";
import { attemptsOf, configure, deliveryIs, deliveryOf, WEBHOOK_URL } from "../../fixtures/events/events.ts";
import {
  claimed,
  dueRows,
  finishOf,
  impatient,
  inSeconds,
  openQueue,
} from "../../fixtures/events/queue-rows.ts";
import { untilBlocked } from "../../fixtures/servers/lock-waits.ts";
import { rawClient } from "../../fixtures/servers/servers.ts";

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).sort();

t.test("a claim takes what is due and in nobody's hand, and leaves all else as it is", async (t) => {
  const ground = await openQueue(t);
  const held = { worker_id: "wrk_other", lease: randomUUID(), claimed_at: new Date() };
  const states: [boolean, Record<string, unknown>][] = [
    [true, { state: "pending" }],
    [true, { state: "retrying", attempts: 3, schedule_base: 1 }],
    [false, { state: "pending", next_attempt_at: inSeconds(60) }],
    [false, { state: "retrying", next_attempt_at: inSeconds(60) }],
    [false, { state: "in_flight", ...held }],
    ...["delivered", "failed", "skipped", "cancelled"].map((state): [boolean, Record<string, unknown>] => [
      false,
      { state, next_attempt_at: null },
    ]),
  ];
  const refs: DeliveryRef[] = [];
  for (const [, columns] of states) refs.push(...(await dueRows(ground, 1, columns)));
  const before = await Promise.all(refs.map(({ id }) => deliveryOf(ground, id)));
  const { rows, lease } = await claimed(ground, refs);
  const due = refs.filter((_, index) => states[index]?.[0]);
  t.same(idsOf(rows), idsOf(due));
  for (const [index, { id }] of refs.entries()) {
    const changed = { state: "in_flight", worker_id: "wrk_1", lease: lease.token, claimed_at: Date };
    if (states[index]?.[0]) t.match(await deliveryOf(ground, id), changed);
    else t.same(await deliveryOf(ground, id), before[index], `${states[index]?.[1].state} stays`);
  }
  t.match(
    rows.find(({ id }) => id === refs[1]?.id),
    {
      attempts: 3,
      schedule_base: 1,
      type: "message.received",
      payload: "{}",
      webhook_url: WEBHOOK_URL,
      is_off: false,
    },
  );
});

t.test("what is claimed says where its client wants it now", async (t) => {
  const ground = await openQueue(t);
  const [first, second] = (await dueRows(ground, 2)) as [DeliveryRef, DeliveryRef];
  await configure(ground, { id: ground.clientId }, { off: ["chatapp"] });
  t.match((await claimed(ground, [first])).rows, [{ is_off: true }]);
  await configure(ground, { id: ground.clientId }, { url: null });
  t.match((await claimed(ground, [second])).rows, [{ is_off: false, webhook_url: null }]);
});

t.test("asked again with the same token a claim answers the same; with another, nothing", async (t) => {
  const ground = await openQueue(t);
  const refs = await dueRows(ground, 3);
  const { lease, rows } = await claimed(ground, refs);
  t.same(idsOf(await claimDeliveries(ground.db, refs, lease)), idsOf(rows));
  t.same((await claimed(ground, refs, "wrk_2")).rows, []);
});

t.test("of several who want the same at the same moment each gets another part", async (t) => {
  const ground = await openQueue(t);
  const refs = await dueRows(ground, 50);
  const raw = await rawClient(t, ground.config.DATABASE_URL);
  await raw.query("begin");
  await raw.query("select 1 from deliveries where id = $1 for update", [refs[25]?.id]);
  const claims = Array.from({ length: 4 }, () => claimed(ground, refs));
  await untilBlocked(raw, 4);
  await raw.query("commit");
  const rows = (await Promise.all(claims)).flatMap(({ rows }) => rows);
  t.same(idsOf(rows), idsOf(refs), "each once");
});

const STATEMENTS: Record<string, (db: Queryable, refs: readonly DeliveryRef[]) => Promise<unknown>> = {
  claim: (db, refs) => claimDeliveries(db, refs, { token: randomUUID(), worker: "wrk_1" }),
  unqueue: (db, refs) => unqueue(db, refs),
  finish: (db, refs) =>
    finishDeliveries(
      db,
      refs.map((ref) => finishOf(ref, { token: NOBODY, worker: "" })),
    ),
};
const NOBODY = "00000000-0000-4000-8000-000000000000";

for (const [one, other] of [
  ["claim", "claim"],
  ["claim", "unqueue"],
  ["finish", "unqueue"],
  ["finish", "finish"],
] as const)
  t.test(`${one} and ${other} of the same ones in opposite orders never wait for each other`, async (t) => {
    const ground = await openQueue(t);
    const refs = await dueRows(ground, 9, { lease: NOBODY });
    const connection = () => rawClient(t, ground.config.DATABASE_URL);
    const [raw, first, second] = [await connection(), await connection(), await connection()];
    await raw.query("begin");
    await raw.query("select 1 from deliveries where id = $1 for update", [refs[4]?.id]);
    const both = [
      STATEMENTS[one]?.(impatient(first), refs),
      STATEMENTS[other]?.(impatient(second), [...refs].reverse()),
    ];
    await untilBlocked(raw, 2);
    await raw.query("commit");
    await t.resolves(Promise.all(both));
  });

t.test("who has lost the lease writes nothing, and who has it writes everything", async (t) => {
  const ground = await openQueue(t);
  const [ref] = (await dueRows(ground, 1)) as [DeliveryRef];
  const first = await claimed(ground, [ref]);
  await deliveryIs(ground, ref.id, { state: "retrying", worker_id: null, lease: null, claimed_at: null });
  const second = await claimed(ground, [ref], "wrk_2");
  const before = await deliveryOf(ground, ref.id);
  t.same(await finishDeliveries(ground.db, [finishOf(ref, first.lease, { state: "delivered" })]), []);
  t.same(await deliveryOf(ground, ref.id), before);
  t.same(await attemptsOf(ground, ref.id), []);
  t.same(await finishDeliveries(ground.db, [finishOf(ref, second.lease)]), [ref.id]);
  t.match(await attemptsOf(ground, ref.id), [{ attempt: 1, error: "HTTP 500", response_excerpt: "oh no" }]);
  t.same(await finishDeliveries(ground.db, [finishOf(ref, second.lease)]), [], "nor twice");
  t.match(await deliveryOf(ground, ref.id), { state: "retrying", attempts: 1 });
});

/** What a finish says, and the row afterwards. */
const ENDINGS: Record<string, [Parameters<typeof finishOf>[2], Record<string, unknown>, number]> = {
  delivered: [
    { state: "delivered", delay_ms: null, restart_delay_ms: null },
    { state: "delivered", attempts: 3, next_attempt_at: null, delivered_at: Date, last_status_code: 500 },
    1,
  ],
  "failed for good": [
    { state: "failed", delay_ms: null },
    { state: "failed", attempts: 3, next_attempt_at: null, delivered_at: null, last_error: "HTTP 500" },
    1,
  ],
  "made again": [{}, { state: "retrying", attempts: 3, url: "https://backend.example/hooks/chat" }, 1],
  skipped: [
    { state: "skipped", skip_reason: "disabled", delay_ms: null, restart_delay_ms: null, attempt: null },
    { state: "skipped", skip_reason: "disabled", attempts: 2, next_attempt_at: null, last_error: "before" },
    0,
  ],
  "put off": [
    { state: "retrying", restart_delay_ms: null, attempt: null },
    {
      state: "retrying",
      attempts: 2,
      last_status_code: 404,
      last_error: "before",
      url: "https://before.example",
    },
    0,
  ],
};

t.test(
  "how an attempt ended is written with it, and the row is in nobody's hand and in no queue",
  async (t) => {
    const ground = await openQueue(t);
    const columns = {
      ...{ attempts: 2, last_status_code: 404, last_error: "before", url: "https://before.example" },
      ...{ enqueued_at: new Date(), queue_epoch: "e" },
    };
    const names = Object.keys(ENDINGS);
    const refs = await dueRows(ground, names.length, columns);
    const { lease } = await claimed(ground, refs);
    const finishes = refs.map((ref, index) => finishOf(ref, lease, ENDINGS[names[index] as string]?.[0]));
    t.same(idsOf((await finishDeliveries(ground.db, finishes)).map((id) => ({ id }))), idsOf(refs));
    for (const [index, ref] of refs.entries()) {
      const name = names[index] as string;
      const [finish, expected, attempts] = ENDINGS[name] as (typeof ENDINGS)[string];
      const row = await deliveryOf(ground, ref.id);
      t.match(row, { ...expected, enqueued_at: null, worker_id: null, lease: null, claimed_at: null }, name);
      if (finish?.delay_ms !== null)
        t.ok(Math.abs((row.next_attempt_at as Date).getTime() - inSeconds(60).getTime()) < 30_000);
      t.equal((await attemptsOf(ground, ref.id)).length, attempts);
    }
  },
);

t.test("a schedule that was begun anew during the attempt counts from there", async (t) => {
  const ground = await openQueue(t);
  const refs = await dueRows(ground, 3, { state: "retrying", attempts: 12 });
  const [over, gone, arrived] = refs as [DeliveryRef, DeliveryRef, DeliveryRef];
  const { lease } = await claimed(ground, refs);
  for (const { clientId, id } of refs) await retryEvent(ground.db, clientId, id);
  await finishDeliveries(ground.db, [
    finishOf(over, lease, { state: "failed", delay_ms: null, restart_delay_ms: 5_000 }),
    finishOf(gone, lease, { state: "failed", delay_ms: null, restart_delay_ms: null }),
    finishOf(arrived, lease, { state: "delivered", delay_ms: null, restart_delay_ms: null }),
  ]);
  const row = await deliveryOf(ground, over.id);
  t.match(row, { state: "retrying", attempts: 13, schedule_base: 12 });
  t.ok((row.next_attempt_at as Date).getTime() < inSeconds(6).getTime(), "not by the old schedule");
  t.match(await deliveryOf(ground, gone.id), { state: "failed", next_attempt_at: null });
  t.match(await deliveryOf(ground, arrived.id), { state: "delivered", next_attempt_at: null });
});

t.test("a client that is erased while its delivery is out leaves nothing behind", async (t) => {
  const ground = await openQueue(t);
  const refs = (await dueRows(ground, 2)) as [DeliveryRef, DeliveryRef];
  const { lease } = await claimed(ground, refs);
  const raw = await rawClient(t, ground.config.DATABASE_URL);
  await raw.query("begin");
  await finishDeliveries(impatient(raw), [finishOf(refs[0], lease)]);
  const erasing = deleteClient(ground.db, ground.clientId);
  await untilBlocked(raw, 1);
  await raw.query("commit");
  await erasing;
  t.same(await finishDeliveries(ground.db, [finishOf(refs[1], lease)]), [], "the other comes too late");
  t.same((await claimed(ground, refs)).rows, []);
  for (const table of ["events", "deliveries", "attempts"])
    t.same(await ground.db.query(`select id from ${table}`), [], table);
});
