import t from "tap";
import { MINUTE } from "../../../src/runtime/durations.ts";
import { firstIdAt, newId } from "../../../src/runtime/ids.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { withOrderedScans } from "../../../src/store/database/paging.ts";
import {
  findScannedFilter,
  listStatement,
  type MessageFilters,
} from "../../../src/store/messages/messages.ts";
import { createClient } from "../../../src/store/tenants/clients.ts";
import { testConfig } from "../../fixtures/processes/settings.ts";
import { countRowsRead, disableAutovacuum } from "../../fixtures/servers/query-plans.ts";

const START = Date.parse("2026-06-01T00:00:00Z");
const COUNT = 3_000;

t.test("the rows that a list of messages reads do not grow with the table", async (t) => {
  const db = createDatabase(await testConfig(t), (error) => t.fail(error.message));
  t.teardown(() => db.close());
  await disableAutovacuum(db, ["messages_default", "sends"]);
  const { id: clientId } = await createClient(db, "A client");
  const [channel, rare] = [newId("ch"), newId("ch")];
  const at = (index: number) => START + index * MINUTE;
  const ids = Array.from({ length: COUNT }, (_, index) => `${firstIdAt("msg", at(index))}${"0".repeat(16)}`);
  await db.query(
    `insert into messages (client_id, id, channel_id, platform, recipient, recipient_kind, type, content, external_ref, status)
    select
      $1, id, case when n <= 3 then $4 else $3 end, 'chatapp', case when n <= 3 then '1' else '2' end, 'phone', 'text', repeat('x', 1900),
      case when n <= 3 then 'rare' else 'often' end,
      case when n <= 3 then 'failed' when n % 2 = 0 then 'queued' else 'read' end
    from unnest($2::text[]) with ordinality as u (id, n)`,
    [clientId, ids, channel, rare],
  );
  await db.query(
    `insert into sends (client_id, id, channel_id, recipient, expires_at, started_at)
    select
      client_id, id, channel_id, recipient, now(),
      case when (row_number() over (order by id))::integer % 2 = 1 then now() end
    from messages
    where status = 'queued'`,
  );
  const deep = ids[COUNT / 2] as string;
  const [since, until] = [new Date(at(COUNT / 2)), new Date(at(COUNT / 2 + 60))];
  const searches: [object, MessageFilters][] = [
    [{}, {}],
    [{ after: deep }, {}],
    [{ before: deep }, {}],
    [{}, { channel_id: channel }],
    [{}, { channel_id: rare }],
    [{}, { to: "1" }],
    [{ after: deep }, { to: "2" }],
    [{}, { external_ref: "rare" }],
    [{}, { external_ref: "often" }],
    [{}, { status: "failed" }],
    [{ after: deep }, { status: "read" }],
    [{}, { status: "queued" }],
    [{ after: deep }, { status: "sending" }],
    [{}, { status: "failed", channel_id: rare, to: "1" }],
    [{}, { status: "failed", channel_id: channel }],
    [{}, { status: "read", to: "1" }],
    [{}, { channel_id: rare, external_ref: "often" }],
    [{ before: deep }, { channel_id: channel, to: "1" }],
    [{}, { channel_id: channel, to: "2", status: "read" }],
    [{}, { since }],
    [{}, { until }],
    [{}, { since, until, status: "sending", channel_id: channel }],
  ];
  const checkReads = async (state: string) => {
    for (const [position, filters] of searches) {
      const search = { page: { limit: 10, ...position }, filters };
      const read = await withOrderedScans(db, async (tx) => {
        const scanned = await findScannedFilter(tx, clientId, search);
        return countRowsRead(tx, listStatement(clientId, search, scanned));
      });
      t.ok(read < 300, `${state}: ${read} rows for ${JSON.stringify({ position, filters })}`);
    }
  };
  await checkReads("before ANALYZE");
  await db.query("analyze messages, sends");
  await checkReads("after ANALYZE");
});
