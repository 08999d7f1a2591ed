import t from "tap";
import { openEventStream } from "../../../../src/domain/events/stream/event-stream.ts";
import { createStreamPoller } from "../../../../src/domain/events/stream/poller.ts";
import { MINUTE } from "../../../../src/runtime/durations.ts";
import { newId } from "../../../../src/runtime/ids.ts";
import type { Database, Statement } from "../../../../src/store/database/database.ts";
import { captureLog } from "../../../fixtures/captured-log.ts";

const CLIENT = "00000000-0000-4000-8000-000000000001";

/** A database with one client's events. `onPage` is called when a page of events is about to be returned. */
function createScriptedDatabase() {
  const events: { id: string; transaction: number }[] = [];
  let transactions = 1;
  const script = { onPage() {} };
  const answer = (text: string, values: readonly unknown[]) => {
    if (text.includes("pg_stat_activity")) return [{ at: Date.now(), oldest: null, areHidden: false }];
    if (text.includes("pg_current_snapshot"))
      return [{ text: `${transactions}:${transactions}:`, generation: "g" }];
    script.onPage();
    const [after, from, to] = [values[1], values[4], values[6]] as [string, number, number];
    const found = events.filter(
      ({ id, transaction }) => id > after && transaction >= from && transaction < to,
    );
    const counts = { scanned: found.length, matched: found.length, last_id: found.at(-1)?.id ?? null };
    const row = { client_id: CLIENT, type: "webhook.test", key: null, channel_id: null, payload: "{}" };
    return found.length === 0
      ? [{ ...counts, id: null }]
      : found.map(({ id }) => ({ ...counts, ...row, id }));
  };
  const query = async (statement: Statement, values: readonly unknown[] = []) =>
    answer(statement.text, values);
  const commit = () => {
    const id = newId("evt");
    events.push({ id, transaction: transactions });
    transactions += 1;
    return id;
  };
  return { db: { query } as unknown as Database, script, commit };
}

const MAX_TURNS = 12;

t.test("no event is lost or repeated when a wait ends at any moment of a read", async (t) => {
  const { db, script, commit } = createScriptedDatabase();
  const poller = createStreamPoller({ db, log: captureLog().log });
  const request = { clientId: CLIENT, filters: {}, start: undefined, maxRows: 100, maxBytes: 1_000_000 };
  const stream = await openEventStream({ db, poller }, request);
  const [committed, received]: [string[], string[]] = [[], []];
  for (let turns = 0; turns < MAX_TURNS; turns++) {
    committed.push(commit());
    // The wait ends some turns of the microtask queue after the answer of the database.
    script.onPage = async () => {
      script.onPage = () => {};
      for (let turn = 0; turn < turns; turn++) await undefined;
      stream.stopWaiting();
    };
    const refreshed = poller.refresh();
    while (received.length < committed.length) {
      const { items, hasMore } = await stream.wait(MINUTE);
      received.push(...items.map(({ item }) => item.event_id));
      if (items.length === 0 && !hasMore && (await isOver(refreshed))) break;
    }
    await refreshed;
  }
  t.same(received, committed);
});

/** True when the read has ended. */
const isOver = (reading: Promise<void>): Promise<boolean> =>
  Promise.race([reading.then(() => true), new Promise<boolean>((resolve) => setTimeout(resolve, 5, false))]);
