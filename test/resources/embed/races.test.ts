import t from "tap";
import {
  channelsOf,
  type SignupHost,
  type SignupPage,
  startSignupContext,
} from "../../fixtures/embed/signup.ts";
import { readClientEvents } from "../../fixtures/platforms/webhooks.ts";
import { OTHER_WABA_ID, PAGE_ID, PLAIN_NUMBER_ID, WABA_ID } from "../../fixtures/sandbox/assets.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";

const CHOICE = { asset_id: PLAIN_NUMBER_ID };
const OTHER_PAGE_ID = "1300000000000402";

/** Statements of the steps: each step renews its claim, and the last one locks the session. */
const [RENEWAL, LOCK] = [/update embed_sessions\s+set try_until/, /from embed_sessions[\s\S]+for update/];

/** Holds a request before a statement until `release`, so that another request comes first. */
function createGate() {
  let held: { statement: RegExp; skipped: number; reach(): void; barrier: Promise<void> } | undefined;
  const { database } = watchStatements(async (text) => {
    if (!held?.statement.test(text) || held.skipped-- > 0) return;
    const { reach, barrier } = held;
    held = undefined;
    reach();
    await barrier;
  });
  return {
    database,
    /** Holds the next such statement after this many have passed. */
    hold(statement: RegExp, skipped = 0) {
      let [release, reach] = [() => {}, () => {}];
      const barrier = new Promise<void>((resolve) => {
        release = resolve;
      });
      const reached = new Promise<void>((resolve) => {
        reach = resolve;
      });
      held = { statement, skipped, reach, barrier };
      return { reached, release };
    },
  };
}

t.test("concurrent requests of an embedded signup", async (t) => {
  const gate = createGate();
  const { api, requests, makeHost } = await startSignupContext(t, { database: gate.database });
  const revoke = (host: SignupHost, { id }: SignupPage) =>
    host.call("POST", `/api/embed/sessions/${id}/revoke`);
  const eventTypesOf = async ({ id }: SignupHost) =>
    (await readClientEvents(api, id)).map(({ type }) => type);
  const countCalls = async (edge: string) =>
    (await requests()).filter(({ path }) => path.endsWith(edge)).length;

  t.test("of several callbacks with one state, one completes the session", async (t) => {
    const host = await makeHost();
    const page = await host.open();
    const returned = await page.decide("chatapp", { assets: [WABA_ID] });
    const replies = await Promise.all(Array.from({ length: 8 }, () => page.report(returned)));
    t.same(replies.map(({ status }) => status).sort(), [200, ...Array(7).fill(400)]);
    t.same(await eventTypesOf(host), ["channel.connected"]);
    t.equal((await channelsOf({ api }, host)).length, 1);
  });

  t.test("of several choices, one connects its page", async (t) => {
    const host = await makeHost();
    const page = await host.open();
    await page.grant("socialapp", PAGE_ID, OTHER_PAGE_ID);
    const assets = [PAGE_ID, OTHER_PAGE_ID];
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, index) => page.post("choice", { asset_id: assets[index % 2] })),
    );
    const statuses = replies.map(({ status }) => status);
    t.equal(statuses.filter((status) => status === 200).length, 1);
    t.ok(statuses.every((status) => [200, 409, 410].includes(status)));
    t.equal((await page.read()).status, "completed");
    t.same(await eventTypesOf(host), ["channel.connected"]);
    t.equal((await channelsOf({ api }, host)).length, 1);
  });

  t.test("a session that is revoked while its steps run is never completed", async (t) => {
    for (const [statement, skipped, registrations] of [
      [RENEWAL, 1, 0], // after the subscription
      [LOCK, 0, 1], // in the last step
    ] as const) {
      const host = await makeHost();
      const page = await host.open();
      await page.grant("chatapp", OTHER_WABA_ID);
      const before = await countCalls("/register");
      const { reached, release } = gate.hold(statement, skipped);
      const choice = page.post("choice", CHOICE);
      await reached;
      t.match(await page.state(), { try: { phase: "connecting" } });
      t.match(await revoke(host, page), { status: 200, body: { status: "revoked" } });
      release();
      t.match(await choice, { status: 200, body: { status: "revoked", try: null } });
      t.equal((await page.read()).status, "revoked");
      t.same(await eventTypesOf(host), []);
      t.same(await channelsOf({ api }, host), []);
      t.equal((await countCalls("/register")) - before, registrations, "no later step runs");
    }
  });

  t.test("a choice and a revocation at once end in one of the two states", async (t) => {
    for (let round = 0; round < 4; round++) {
      const host = await makeHost();
      const page = await host.open();
      await page.grant("socialapp", PAGE_ID, OTHER_PAGE_ID);
      const choice = page.post("choice", { asset_id: OTHER_PAGE_ID });
      const [chosen, revoked] = await Promise.all([choice, revoke(host, page)]);
      const isCompleted = (await page.read()).status === "completed";
      t.equal(revoked.status, isCompleted ? 409 : 200);
      t.equal(chosen.body.status === "completed", isCompleted);
      t.same(await eventTypesOf(host), isCompleted ? ["channel.connected"] : []);
      t.equal((await channelsOf({ api }, host)).length, isCompleted ? 1 : 0);
    }
  });

  t.test("running steps are not cancelled, and an expired session is not completed", async (t) => {
    const host = await makeHost();
    const [page, late] = [await host.open(), await host.open()];
    const running = gate.hold(RENEWAL, 2);
    const granting = page.grant("chatapp", WABA_ID);
    await running.reached;
    t.match((await page.post("cancel")).body, { try: { phase: "connecting" } });
    running.release();
    t.same((await granting).body, { status: "completed" });

    for (const [statement, skipped, subscriptions] of [
      [RENEWAL, 2, 0],
      [LOCK, 0, 1],
    ] as const) {
      await api.db.query("update embed_sessions set expires_at = now() + interval '1 hour' where id = $1", [
        late.id,
      ]);
      const before = await countCalls("/subscribed_apps");
      const { reached, release } = gate.hold(statement, skipped);
      const expiring = late.grant("chatapp", WABA_ID);
      await reached;
      await api.db.query("update embed_sessions set expires_at = now() where id = $1", [late.id]);
      release();
      t.same((await expiring).body, { status: "expired" });
      t.equal((await countCalls("/subscribed_apps")) - before, subscriptions, "no later step runs");
    }
    t.equal((await eventTypesOf(host)).length, 1);
  });

  t.test("a new try ends one whose steps run, or whose process died", async (t) => {
    const host = await makeHost();
    const page = await host.open();
    const { reached, release } = gate.hold(RENEWAL, 2);
    const replaced = page.grant("chatapp", WABA_ID);
    await reached;
    await page.post("tries", { platform: "socialapp" });
    release();
    t.same((await replaced).body, { status: "opened" });
    t.match(await page.state(), { status: "opened", try: { platform: "socialapp", phase: "dialog" } });
    t.same(await channelsOf({ api }, host), []);

    // As after a crash: the lease of the steps is no longer renewed.
    const { state } = await page.decide("chatapp", { assets: [WABA_ID] });
    await api.db.query(
      "update embed_sessions set try_phase = 'connecting', try_lease = gen_random_uuid(), try_until = now() where id = $1",
      [page.id],
    );
    t.match(await page.state(), { status: "opened", try: null });
    t.equal((await page.report({ state: state as string, code: "AQ" })).status, 400);
    t.same((await page.grant("chatapp", WABA_ID)).body, { status: "completed" });
    t.same(await eventTypesOf(host), ["channel.connected"]);
  });
});
