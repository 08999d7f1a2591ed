import t from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { DAY } from "../../../src/runtime/durations.ts";
import { createDatabase, type Queryable } from "../../../src/store/database/database.ts";
import { FAILURE_SETTINGS, GROUP_FAILURES, groupFailures } from "../../../src/store/stats/failures.ts";
import { createClient } from "../../../src/store/tenants/clients.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { disableAutovacuum } from "../../fixtures/servers/query-plans.ts";

const ROWS = 4_000;
const DAYS = 31;

/** Partitions of one day each; the ids of a day begin with its number. */
const MAKE_PARTITIONS = `
  do $$ begin
    for day in 10..${9 + DAYS} loop
      execute format('create table messages_d%s partition of messages for values from (%L) to (%L)', day, 'msg_' || day, 'msg_' || day + 1);
      execute format('create table deliveries_d%s partition of deliveries for values from (%L) to (%L)', day, 'evt_' || day, 'evt_' || day + 1);
    end loop;
  end $$`;

const dayOf = (row: string) => `(10 + ${row} % ${DAYS})`;
const FAILED_AT = `now() - i % ${DAYS} * interval '1 day'`;

/** Every second row has failed. */
const FILL = [
  `insert into messages
    (client_id, id, channel_id, platform, recipient, recipient_kind, type, content, status, error_code, failed_at)
  select $1::uuid, 'msg_' || ${dayOf("i")} || $1::uuid || i, 'ch_' || i % 3, 'chatapp', '1', 'phone', 'text', '{}',
    case when i % 2 = 0 then 'failed' else 'read' end, case when i % 2 = 0 then '13102' || i % 5 end, ${FAILED_AT}
  from generate_series(1, $2::integer) i`,
  `insert into deliveries (client_id, id, key, state, url, last_status_code, last_error, failed_at)
  select $1::uuid, 'evt_' || ${dayOf("i")} || $1::uuid || i, 'chatapp', case when i % 2 = 0 then 'failed' else 'delivered' end,
    'https://shop.example.com/' || i % 4, 500, 'HTTP 500', ${FAILED_AT}
  from generate_series(1, $2::integer) i`,
];

t.test("failures are counted along their index, with and without statistics", async (t) => {
  const db = createDatabase(readConfig(await testSettings(t)), (error) => t.fail(error.message));
  t.teardown(() => db.close());
  await db.query(MAKE_PARTITIONS);
  const [clientId, other] = [await createClient(db, "One"), await createClient(db, "Other")].map(
    ({ id }) => id,
  );
  const tables = Array.from({ length: DAYS }, (_, day) => [
    `messages_d${day + 10}`,
    `deliveries_d${day + 10}`,
  ]);
  await disableAutovacuum(db, tables.flat());
  for (const fill of FILL) {
    await db.query(fill, [clientId, ROWS]);
    await db.query(fill, [other, 3 * ROWS]);
  }

  const explain = async (tx: Queryable, { text }: { text: string }) => {
    const values = [clientId, new Date(Date.now() - DAYS * DAY), "infinity"];
    const rows = await tx.query<{ "QUERY PLAN": string }>(`explain ${text}`, values);
    return rows.map((row) => row["QUERY PLAN"]).join("\n");
  };
  const checkPlans = () =>
    db.transaction(async (tx) => {
      await tx.query(FAILURE_SETTINGS);
      for (const [kind, statement] of Object.entries(GROUP_FAILURES)) {
        const plan = await explain(tx, statement as unknown as { text: string });
        t.notMatch(plan, "Seq Scan", kind);
        t.notMatch(plan, "Bitmap", kind);
        t.match(plan, "HashAggregate", `${kind} are not sorted`);
        t.match(plan, /Index (Only )?Scan using \w+_client_id_failed_at/, kind);
        t.notMatch(plan, /using \w+\d_failed_at/, `${kind} of other clients are not read`);
      }
    });
  await checkPlans();
  await db.query("vacuum analyze");
  await checkPlans();

  const period = { since: new Date(Date.now() - DAYS * DAY) };
  const found = await groupFailures(db, clientId as string, { period, kinds: ["messages", "deliveries"] });
  const countOf = (rows: readonly { count: number }[] = []) =>
    rows.reduce((sum, { count }) => sum + count, 0);
  t.same([countOf(found?.messages), countOf(found?.deliveries)], [ROWS / 2, ROWS / 2]);
});
