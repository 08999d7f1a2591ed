import t from "tap";
import {
  MESSAGE_TRANSITIONS,
  SEND_STATES,
  TO_BE_SENT_STATES,
  UNLEASED_STATES,
  UNSETTLED_STATUSES,
} from "../../../src/store/messages/lifecycle.ts";
import { openQueueContext } from "../../fixtures/events/queue-rows.ts";

t.test("the transition tables list exactly the states that the columns allow", async (t) => {
  const { db } = await openQueueContext(t);
  const allowed = async (table: string, column: string) => {
    const [row] = await db.query<{ definition: string }>(
      "select pg_get_constraintdef(oid) as definition from pg_constraint where conname = $1",
      [`${table}_${column}_check`],
    );
    return [...(row?.definition ?? "").matchAll(/'(\w+)'/g)].map(([, name]) => name).sort();
  };
  t.same(await allowed("messages", "status"), Object.keys(MESSAGE_TRANSITIONS).sort());
  t.same(await allowed("sends", "state"), Object.keys(SEND_STATES).sort());
});

t.test("transitions lead to known states, and no status can be reached again", async (t) => {
  const transitions: Record<string, readonly string[]> = MESSAGE_TRANSITIONS;
  const reachable = (status: string, seen: readonly string[] = []): string[] =>
    (transitions[status] as readonly string[]).flatMap((next) =>
      seen.includes(next) ? [next] : [next, ...reachable(next, [...seen, next])],
    );
  for (const status of Object.keys(transitions)) t.notOk(reachable(status).includes(status), status);
  for (const { next } of Object.values(SEND_STATES)) for (const state of next) t.ok(state in SEND_STATES);
});

t.test("the SQL lists are derived from the transition tables", async (t) => {
  t.equal(UNSETTLED_STATUSES, "('scheduled', 'queued', 'unknown')");
  t.equal(TO_BE_SENT_STATES, "('behind', 'waiting', 'claimed')");
  t.equal(UNLEASED_STATES, "('behind', 'waiting')");
});
