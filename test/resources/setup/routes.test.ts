import t from "tap";
import { acceptTerms } from "../../../src/domain/tenants/terms.ts";
import { MINUTE, SECOND } from "../../../src/runtime/durations.ts";
import { firstIdAt, newId } from "../../../src/runtime/ids.ts";
import { SCOPES, type Scope, SETUP_STEPS } from "../../../src/schema/enumerations.ts";
import type { Queryable } from "../../../src/store/database/database.ts";
import {
  findLatestAttempt,
  findNewestMessages,
  hasDeliveredEvent,
  withIndexScans,
} from "../../../src/store/setup/setup.ts";
import { idsIn } from "../../fixtures/docs/page-ids.ts";
import { insertBacklog } from "../../fixtures/events/backlog.ts";
import { answerWith, startClientBackend } from "../../fixtures/events/client-backend.ts";
import { configureWebhook, makeEvents, updateDelivery, WEBHOOK_URL } from "../../fixtures/events/events.ts";
import { excludeEvents } from "../../fixtures/events/stored-events.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { insertMessage } from "../../fixtures/messages/message-rows.ts";
import { updateRow } from "../../fixtures/messages/messages.ts";
import { countRowsRead, disableAutovacuum } from "../../fixtures/servers/query-plans.ts";
import { makeActor } from "../../fixtures/tenants/actors.ts";
import { grantAdAccount } from "../../fixtures/tenants/ad-accounts.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant, type Tenant } from "../../fixtures/tenants/tenants.ts";
import { FIRST_TERMS_VERSION } from "../../fixtures/tenants/terms.ts";

interface Step {
  step: string;
  done: boolean;
  detail: string;
  next_step: string | null;
  documentation: string;
}

/** A client, and its setup as a key with these scopes sees it. */
async function makeClient(api: Api, ...scopes: Scope[]) {
  const tenant = await makeTenant(api);
  return { tenant, read: await createReader(api, tenant, ...scopes) };
}

async function createReader(api: Api, tenant: Tenant, ...scopes: Scope[]) {
  const { headers } = await tenant.createKey(...scopes);
  return async (): Promise<Record<string, Step>> => {
    const { status, body } = await api.call("GET", "/api/setup", { headers });
    if (status !== 200) throw new Error(`the setup was refused: ${status}`);
    return Object.fromEntries(body.data.map((step: Step) => [step.step, step]));
  };
}

/** Records an event whose last attempt had this time and error. */
async function makeAttempt(
  api: Api,
  tenant: Tenant,
  { at, error = null, url = `${WEBHOOK_URL}/chat` }: { at: number; error?: string | null; url?: string },
): Promise<void> {
  const [id] = (await makeEvents(api, tenant, {})) as [string];
  await api.db.query(
    `insert into attempts (client_id, id, attempt, at, status_code, duration_ms, error)
    values ($1, $2, 1, $3, $4, 5, $5)`,
    [tenant.id, id, new Date(at), error === null ? 204 : null, error],
  );
  await updateDelivery(api, id, { state: error === null ? "delivered" : "retrying", attempts: 1, url });
}

t.test("the setup of a client", async (t) => {
  const api = await startApi(t, { settings: { PRIVATE_DESTINATIONS: "127.0.0.0/8" } });

  t.test("a new client has all steps before it, each with a guide section that exists", async (t) => {
    const { headers } = await (await makeTenant(api)).createUser("viewer");
    const { status, body } = await api.call("GET", "/api/setup", { headers });
    t.equal(status, 200);
    t.same(
      body.data.map(({ step }: Step) => step),
      SETUP_STEPS,
    );
    for (const { step, done, detail, next_step, documentation } of body.data as Step[]) {
      t.equal(done, false, step);
      t.match(detail, /^[A-Z].*\.$/);
      t.match(next_step, /^[A-Z].*(GET|POST|PATCH) \/api\/.*\.$/);
      const [path = "", anchor = ""] = documentation.split("#");
      const guide = await api.call("GET", path);
      t.equal(guide.status, 200, documentation);
      t.ok(idsIn(guide.text).includes(anchor), documentation);
    }
  });

  t.test("each next step names a route that exists", async (t) => {
    const { tenant, read } = await makeClient(api, ...SCOPES);
    await configureWebhook(api, tenant);
    await insertMessage(api, tenant);
    await grantAdAccount(api, tenant, { status: "available" });
    const routes = api.routes.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    for (const { next_step } of Object.values(await read())) {
      const [named = ""] = /[A-Z]+ \/api\/[\w/{}-]+/.exec(next_step ?? "") ?? [];
      t.ok(routes.includes(named.replace(/msg_\w+/, "{message_id}")), next_step ?? "null");
    }
  });

  t.test("an unknown query parameter is refused", async (t) => {
    const { headers } = await (await makeTenant(api)).createKey("messages:send");
    const { status, body } = await api.call("GET", "/api/setup?step=event", { headers });
    t.equal(status, 400);
    t.equal(body.error, "validation_failed");
  });

  t.test("the address is done when its latest attempt, a test event too, had a 2xx answer", async (t) => {
    const backend = await startClientBackend(t, answerWith(500));
    const { tenant, read } = await makeClient(api, "webhooks:manage");
    const readPublic = await createReader(api, tenant, "messages:send");
    const { headers } = await tenant.createKey("webhooks:manage");
    const sendTest = () => api.call("POST", "/api/webhooks/test", { headers });
    t.match((await read()).webhook_address, { done: false, detail: "The address is not set." });

    await configureWebhook(api, tenant, { url: backend.url });
    t.match((await read()).webhook_address, {
      done: false,
      detail: `The address ${backend.url} is set, but no event was sent to it yet.`,
      next_step: "Send a test event with POST /api/webhooks/test.",
    });
    t.equal(
      (await readPublic()).webhook_address?.detail,
      "The address is set, but no event was sent to it yet.",
    );

    await sendTest();
    const failed = (await read()).webhook_address;
    t.match(failed, { done: false, next_step: /POST \/api\/webhooks\/test/ });
    t.match(
      failed?.detail,
      new RegExp(`^The address ${backend.url} is set, but .* at 2.*Z failed: HTTP 500\\.$`),
    );
    t.equal(
      (await readPublic()).webhook_address?.detail,
      "The address is set, but the latest attempt failed.",
    );

    backend.answer = answerWith(204);
    await sendTest();
    const { webhook_address, event } = await read();
    t.match(webhook_address, { done: true, next_step: null });
    t.match(webhook_address?.detail, /answered the latest attempt at 2.*Z with HTTP 204\.$/);
    t.equal(event?.done, false, "a test event is no event of the client");
    t.match((await readPublic()).webhook_address, {
      done: true,
      detail: "The address is set and answered the latest attempt.",
    });

    await configureWebhook(api, tenant, { url: `${backend.url}/moved` });
    t.equal((await read()).webhook_address?.done, false, "the attempts were at another address");
  });

  t.test("the latest attempt is found by its time, and at the address only", async (t) => {
    const { tenant, read } = await makeClient(api, "webhooks:manage");
    await configureWebhook(api, tenant);
    const now = Date.now();
    await makeAttempt(api, tenant, { at: now - 1 * MINUTE, error: "timeout" });
    await makeAttempt(api, tenant, { at: now - 2 * MINUTE });
    await makeAttempt(api, tenant, { at: now, url: `${WEBHOOK_URL}2/chat` });
    await makeAttempt(api, tenant, { at: now, url: `${WEBHOOK_URL}/former/chat` });
    const at = new Date(now - 1 * MINUTE).toISOString();
    t.match((await read()).webhook_address, {
      done: false,
      detail: `The address ${WEBHOOK_URL} is set, but the latest attempt at ${at} failed: timeout.`,
    });
    await insertBacklog(api.db, tenant.id, 150, new Date(now + 1 * MINUTE));
    t.match((await read()).webhook_address?.detail, "timeout", "the attempt is found behind a backlog");
    await makeAttempt(api, tenant, { at: now });
    t.equal((await read()).webhook_address?.done, true);
  });

  t.test("the secret is done when a token is set", async (t) => {
    const { tenant, read } = await makeClient(api);
    t.equal((await read()).webhook_secret?.done, false);
    const { headers } = await tenant.createKey("webhooks:manage");
    await api.call("POST", "/api/webhooks/config/generate-secret", { headers });
    t.match((await read()).webhook_secret, { done: true, next_step: null });
  });

  t.test(
    "the channel is done when one is connected; one without a token must be connected again",
    async (t) => {
      const { tenant, read } = await makeClient(api);
      const id = await makeChannel(api, tenant);
      t.match((await read()).channel, { done: true, next_step: null });
      await updateRow(api, "channels", { id, status: "needs_reauth" });
      t.match((await read()).channel, { done: false, next_step: /^Connect the channel again/ });
      await updateRow(api, "channels", { id, status: "disconnected" });
      t.match((await read()).channel, { done: false, detail: "No channel is connected." });
    },
  );

  t.test("the message is done when a platform accepted one; a failure names the newest", async (t) => {
    const { tenant, read } = await makeClient(api, "messages:send");
    const readPublic = await createReader(api, tenant, "webhooks:manage");
    const cancelled = await insertMessage(api, tenant, { status: "cancelled" });
    t.match((await read()).message, { done: false, next_step: /POST/ }, "a cancelled message was not sent");
    await updateRow(api, "messages", { id: cancelled, status: "scheduled" });
    t.match((await read()).message?.next_step, cancelled, "a scheduled message is in progress");
    const queued = await insertMessage(api, tenant);
    t.match((await read()).message?.next_step, queued);
    await insertMessage(api, tenant, { status: "failed" });
    const failed = await insertMessage(api, tenant, { status: "failed" });
    t.match((await read()).message, {
      done: false,
      detail: `No message was accepted by its platform, and the newest failed one is ${failed}.`,
      next_step: `Read why it failed with GET /api/outbound/messages/${failed}/explanation.`,
    });
    const { message } = await readPublic();
    t.match(message?.next_step, "GET /api/outbound/messages/{message_id}/explanation");
    t.notMatch(JSON.stringify(message), "msg_");
    for (const status of ["accepted", "sent", "delivered", "read"]) {
      await updateRow(api, "messages", { id: queued, status });
      t.match((await read()).message, { done: true, next_step: null }, status);
    }
  });

  t.test("the event is done when one that is no test was delivered", async (t) => {
    const { tenant, read } = await makeClient(api);
    const [id] = (await makeEvents(api, tenant, {})) as [string];
    const [testId] = (await makeEvents(api, tenant, { test: true })) as [string];
    await updateDelivery(api, id, { state: "failed" });
    await updateDelivery(api, testId, { state: "delivered" });
    t.equal((await read()).event?.done, false, "a test event of any type is no event of the client");
    await updateDelivery(api, id, { state: "delivered" });
    t.match((await read()).event, { done: true, next_step: null });
  });

  t.test("the terms are done when the version in force is accepted", async (t) => {
    const { tenant, read } = await makeClient(api, "marketing:read");
    const readPublic = await createReader(api, tenant, "messages:send");
    t.match((await read()).terms, { done: false, detail: new RegExp(FIRST_TERMS_VERSION) });
    const acceptor = { id: newId("usr"), name: "Ada", email: null, role: "owner" };
    await acceptTerms(api.db, makeActor(tenant.id), acceptor);
    t.match((await read()).terms, { done: true, detail: new RegExp(FIRST_TERMS_VERSION), next_step: null });
    t.match((await readPublic()).terms, { done: true, detail: "The terms in force are accepted." });
  });

  t.test("the ad account is done when one is active; a revoked one must be connected again", async (t) => {
    const { tenant, read } = await makeClient(api);
    await grantAdAccount(api, tenant, { status: "revoked" });
    t.match((await read()).ad_account, { done: false, next_step: /^Connect the ad accounts again/ });
    await grantAdAccount(api, tenant, { status: "available" });
    t.match((await read()).ad_account, { done: false, next_step: /^Activate an ad account/ });
    await grantAdAccount(api, tenant);
    t.match((await read()).ad_account, { done: true, next_step: null });
    const { read: readOther } = await makeClient(api, ...SCOPES);
    t.notOk(
      Object.values(await readOther()).some(({ done }) => done),
      "another client's objects do not count",
    );
  });

  t.test("the rows that are read do not grow with the tables", async (t) => {
    const { db } = api;
    await disableAutovacuum(
      db,
      ["events", "deliveries", "attempts", "messages"].map((table) => `${table}_default`),
    );
    const { id } = await makeTenant(api);
    const count = 6_000;
    const ids = (prefix: "evt" | "msg") =>
      Array.from({ length: count }, (_, index) => firstIdAt(prefix, Date.UTC(2026, 5, 1) + index * SECOND));
    excludeEvents(...ids("evt"));
    const insert = (prefix: "evt" | "msg", columns: string, values: string) =>
      db.query(`insert into ${columns} select $1::uuid, id, ${values} from unnest($2::text[]) i (id)`, [
        id,
        ids(prefix),
      ]);
    // Long bodies: Postgres estimates the rows of a table without statistics from its size.
    await insert(
      "evt",
      "events (client_id, id, type, occurred_at, is_late, payload)",
      "'webhook.test', now(), false, repeat('x', 1900)",
    );
    await insert(
      "evt",
      "deliveries (client_id, id, state, attempts, url)",
      `'delivered', 1, '${WEBHOOK_URL}'`,
    );
    await insert("evt", "attempts (client_id, id, attempt, at, duration_ms)", "1, now(), 5");
    await insert(
      "msg",
      "messages (client_id, id, channel_id, platform, recipient, recipient_kind, type, content, status)",
      "'ch', 'chatapp', '1', 'phone', 'text', repeat('x', 1900), 'failed'",
    );
    const checkReads = (state: string) =>
      withIndexScans(db, async (tx) => {
        const reads: number[] = [];
        const counting: Queryable = {
          async query(statement, values = []) {
            const text = typeof statement === "string" ? statement : statement.text;
            reads.push(await countRowsRead(tx, { text, values: [...values] }));
            return [];
          },
        };
        await findLatestAttempt(counting, id, [WEBHOOK_URL]);
        await findNewestMessages(counting, id);
        await hasDeliveredEvent(counting, id);
        const [attempts = count, messages = count, events = count] = reads;
        t.ok(attempts < 1_000 && messages < 100 && events < 3_000, `${state}: ${reads} rows`);
      });
    await checkReads("before ANALYZE");
    await db.query("analyze events, deliveries, attempts, messages");
    await checkReads("after ANALYZE");
  });
});
