import t from "tap";
import { toNewEvent } from "../../../src/domain/events/record-events.ts";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../../src/runtime/durations.ts";
import { firstIdAt, newId } from "../../../src/runtime/ids.ts";
import { createDatabase, type Database } from "../../../src/store/database/database.ts";
import { withOrderedScans } from "../../../src/store/database/paging.ts";
import type { NewEvent } from "../../../src/store/events/insert-events.ts";
import {
  countStatement,
  type EventFilters,
  findCountedFilter,
  findScannedFilter,
  listEvents,
  listStatement,
} from "../../../src/store/events/list-events.ts";
import { createClient } from "../../../src/store/tenants/clients.ts";
import {
  insertEventsOfAnyTime,
  makeEventAt,
  newEvent,
  updateDelivery,
} from "../../fixtures/events/events.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { countRowsRead, disableAutovacuum } from "../../fixtures/servers/query-plans.ts";

const START = Date.parse("2026-06-01T00:00:00Z");
const SPAN = 3 * HOUR;

/**
 * Half of the events are late, by various amounts. The seed is fixed, so that a failure can be reproduced.
 */
function drawEvents() {
  let seed = 7;
  const next = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  return Array.from({ length: 120 }, () => {
    const at = START + next(SPAN);
    const isLate = next(2) === 0;
    const lateness = isLate ? 5 * MINUTE + 1 + next(2 * HOUR) : next(5 * MINUTE + 1);
    return {
      at,
      is_late: isLate,
      occurred_at: new Date(at - lateness),
      key: next(2) === 0 ? "chatapp" : "marketing",
    };
  });
}

async function openDatabase(t: Parameters<typeof testSettings>[0]): Promise<Database> {
  const db = createDatabase(readConfig(await testSettings(t)), (error) => t.fail(error.message));
  t.teardown(() => db.close());
  return db;
}

/** Returns all ids, page by page, in the given direction. */
async function listAll(db: Database, clientId: string, filters: EventFilters, backwards: boolean) {
  const found: string[] = [];
  const limit = 17;
  for (;;) {
    const position = found.at(-1);
    const page = backwards ? { before: position ?? "" } : position === undefined ? {} : { after: position };
    const rows = await listEvents(db, clientId, { page: { limit, ...page }, filters });
    found.push(...rows.slice(0, limit).map(({ id }) => id));
    if (rows.length <= limit) return backwards ? found.reverse() : found;
  }
}

type PositionOnly = { after?: string; before?: string };

t.test("listing events", async (t) => {
  const db = await openDatabase(t);
  // Before the first event: statistics of the other tests' events would mislead the planner.
  await disableAutovacuum(db, ["events_default", "deliveries_default"]);

  t.test("a time filter finds exactly the events that occurred in it, however late recorded", async (t) => {
    const client = await createClient(db, "A client");
    const events = drawEvents();
    const recorded: { id: string; key: string; status: string; occurred: number }[] = [];
    for (const [index, { at, ...event }] of events.entries()) {
      const id = await makeEventAt({ db }, client, at, event);
      const status = index % 3 === 0 ? "failed" : "delivered";
      await updateDelivery({ db }, id, { state: status });
      recorded.push({ id, key: event.key, status, occurred: event.occurred_at.getTime() });
    }
    recorded.sort((one, other) => (one.id < other.id ? 1 : -1));
    const expected = ({ since, until, key, status }: EventFilters) =>
      recorded
        .filter(({ occurred }) => (!since || occurred >= +since) && (!until || occurred <= +until))
        .filter((event) => (!key || event.key === key) && (!status || event.status === status))
        .map(({ id }) => id);
    const edges = recorded.slice(0, 12).map(({ occurred }) => new Date(occurred));
    const periods = edges.flatMap((until, index) => [
      { until },
      { since: until },
      { since: edges[(index * 5) % 12] as Date, until },
    ]);
    for (const period of periods)
      for (const extraFilters of [
        {},
        { key: "marketing" },
        { status: "failed" },
        { key: "chatapp", status: "failed" },
      ])
        for (const backwards of [false, true]) {
          const filters = { ...period, ...extraFilters };
          const found = await listAll(db, client.id, filters, backwards);
          t.same(found, expected(filters), JSON.stringify({ ...filters, backwards }));
        }
  });

  t.test("a list finds events recorded after the clock was set back a little", async (t) => {
    const client = await createClient(db, "A client");
    // Ids then do not go backwards, so this one has the time before the clock was set back.
    const id = `${firstIdAt("evt", Date.now() + 4 * SECOND)}${"0".repeat(16)}`;
    await insertEventsOfAnyTime(db, [
      toNewEvent(id, { clientId: client.id, type: "webhook.test", key: null, data: {} }),
    ]);
    const until = new Date(Date.now() + MINUTE);
    t.same(await listAll(db, client.id, { until }, false), [id]);
    t.same(await listAll(db, client.id, { since: new Date(Date.now() - MINUTE), until }, true), [id]);
  });

  t.test(
    "the rows that a list reads do not grow with the table, and a count reads none many times",
    async (t) => {
      const client = await createClient(db, "A client");
      const messageId = newId("msg");
      const [channel, rareChannel] = [newId("ch"), newId("ch")];
      const events = Array.from({ length: 3_000 }, (_, index) => {
        const at = START + DAY + index * MINUTE;
        const rare = {
          key: "marketing",
          type: "lead.created",
          channel_id: rareChannel,
          message_id: messageId,
        };
        // Long bodies: Postgres estimates the rows of a table without statistics from its size.
        return newEvent(client, at, {
          channel_id: channel,
          payload: "x".repeat(1_900),
          ...(index < 3 ? rare : {}),
        });
      });
      await insertEventsOfAnyTime(db, events);
      await db.query("update deliveries set state = 'delivered' where client_id = $1", [client.id]);
      for (const { id } of events.slice(0, 3)) await updateDelivery({ db }, id, { state: "failed" });
      const { id: deep, occurred_at: since } = events[1_500] as NewEvent;
      const until = new Date(since.getTime() + HOUR);
      const searches: [PositionOnly, EventFilters][] = [
        [{}, {}],
        [{ after: deep }, {}],
        [{ before: deep }, {}],
        [{}, { key: "chatapp" }],
        [{}, { key: "marketing" }],
        [{}, { type: "lead.created" }],
        [{}, { message_id: messageId }],
        [{}, { status: "delivered" }],
        [{ after: deep }, { status: "delivered" }],
        [{}, { status: "failed" }],
        [{}, { status: "failed", key: "marketing" }],
        [{}, { status: "failed", key: "chatapp" }],
        [{}, { status: "delivered", key: "marketing" }],
        [{}, { status: "delivered", type: "message.received", since }],
        [{}, { status: "delivered", message_id: messageId }],
        [{ after: deep }, { status: "delivered", key: "chatapp" }],
        [{}, { key: "chatapp", channel_id: rareChannel }],
        [{}, { type: "lead.created", channel_id: channel }],
        [{ before: deep }, { type: "lead.created", key: "chatapp", status: "delivered" }],
        [{}, { since }],
        [{}, { until }],
        [{}, { since, until }],
        [{ after: deep }, { since: new Date(START) }],
        [{}, { since, until, status: "delivered" }],
        [{}, { since, until, status: "delivered", key: "chatapp" }],
      ];
      const [failed, all] = [["failed", "skipped"], ["delivered"]];
      const period = { since: new Date(START), until };
      const [few, many] = [300, 3 * events.length];
      const counts: [string[], EventFilters, number][] = [
        [failed, { key: "chatapp" }, many],
        [failed, { key: "chatapp", ...period }, many],
        [failed, { type: "message.received", channel_id: channel, ...period }, many],
        [all, { type: "message.received", channel_id: channel }, many],
        [all, { message_id: messageId, ...period }, few],
        [all, { channel_id: rareChannel }, few],
        [all, { channel_id: rareChannel, type: "message.received", ...period }, few],
        [all, { key: "chatapp", type: "lead.created" }, few],
      ];
      const checkReads = async (state: string) => {
        for (const [position, filters] of searches) {
          const search = { page: { limit: 10, ...position }, filters };
          const read = await withOrderedScans(db, async (tx) => {
            const scanned = await findScannedFilter(tx, client.id, search);
            return countRowsRead(tx, listStatement(client.id, search, scanned));
          });
          t.ok(read < 300, `${state}: ${read} rows for ${JSON.stringify({ position, filters })}`);
        }
        for (const [statuses, filters, maxRows] of counts) {
          const read = await db.transaction(async (tx) => {
            await tx.query("set local enable_partitionwise_join = on");
            const scanned = await findCountedFilter(tx, client.id, filters);
            return countRowsRead(tx, countStatement(client.id, { statuses, filters }, scanned));
          });
          const count = JSON.stringify({ statuses, filters });
          t.ok(read < maxRows, `${state}: ${read} rows for the count of ${count}`);
        }
      };
      await checkReads("before ANALYZE");
      await db.query("analyze events, deliveries");
      await checkReads("after ANALYZE");
    },
  );
});
