import t from "tap";
import { DatabaseUnavailable } from "../../../src/store/database/faults.ts";
import { startSignupContext } from "../../fixtures/embed/signup.ts";
import { readClientEvents } from "../../fixtures/platforms/webhooks.ts";
import { PAGE_ID } from "../../fixtures/sandbox/assets.ts";
import { watchStatements, withRepeatedTransactions } from "../../fixtures/servers/statements.ts";

const OTHER_PAGE_ID = "1300000000000402";

t.test("a signup that is interrupted before any of its statements is completed by another try", async (t) => {
  let statementsLeft = Number.POSITIVE_INFINITY;
  const { database } = watchStatements(async () => {
    statementsLeft -= 1;
    if (statementsLeft < 0) throw new DatabaseUnavailable(new Error("interrupted by the test"));
  });
  const { api, makeHost } = await startSignupContext(t, { database });
  const host = await makeHost();
  const statuses: number[] = [];
  while (statuses.at(-1) !== 200) {
    const page = await host.open();
    const returned = await page.decide("socialapp", { assets: [PAGE_ID] });
    statementsLeft = statuses.length;
    statuses.push((await page.report(returned)).status);
    statementsLeft = Number.POSITIVE_INFINITY;
    const { status } = await page.state();
    const [connected] = await api.db.query<{ channels: number; sessions: number }>(
      `select
        (select count(*) from audit_log where action = 'channel.connected') as channels,
        (select count(*) from embed_sessions where status = 'completed') as sessions`,
    );
    t.equal(connected?.channels, connected?.sessions, "a channel is connected only with its session");
    if (status !== "completed")
      t.same((await page.grant("socialapp", PAGE_ID)).body, { status: "completed" });
    const { result } = await page.read();
    const events = (await readClientEvents(api, host.id)).map(({ payload: { data } }) => data);
    t.same(
      events.filter(({ session_id }) => session_id === page.id),
      [{ session_id: page.id, result }],
      `one result after an interruption before statement ${statuses.length}`,
    );
  }
  t.equal((await api.db.query("select 1 from channels")).length, 1);
  t.ok(statuses.length > 12, `${statuses.length} statements were interrupted`);
  t.same([...new Set(statuses)], [503, 200]);
});

t.test("a poll of the state costs one statement, and an impossible token or state none", async (t) => {
  const { statements, database } = watchStatements();
  const { api, makeHost } = await startSignupContext(t, { database });
  const page = await (await makeHost()).open();
  const countStatements = async (work: () => Promise<unknown>) => {
    statements.splice(0);
    await work();
    return statements.length;
  };
  t.equal(await countStatements(page.state), 1);
  t.equal(await countStatements(() => api.call("GET", `/embed/${page.token}`)), 1);
  t.equal(await countStatements(() => api.call("GET", `/embed/${"a".repeat(43)}`)), 1);
  t.equal(await countStatements(() => api.call("GET", `/embed/${"a".repeat(42)}/state`)), 0);
  t.equal(await countStatements(() => api.call("GET", "/embed/callback?state=s&code=c")), 0);
  t.equal(await countStatements(() => page.report({ state: "forged", code: "c" })), 0);
  await page.post("loaded");
  t.equal(await countStatements(() => page.post("loaded")), 1, "a repeated call writes nothing");
});

t.test("a signup whose transactions run twice after a deadlock has one result", async (t) => {
  const { api, makeHost } = await startSignupContext(t, { database: withRepeatedTransactions });
  const host = await makeHost();
  const page = await host.open();
  await page.grant("socialapp", PAGE_ID, OTHER_PAGE_ID);
  const { body } = await page.post("choice", { asset_id: OTHER_PAGE_ID });
  t.match(body, { status: "completed" });
  t.equal((await readClientEvents(api, host.id)).length, 1);
});
