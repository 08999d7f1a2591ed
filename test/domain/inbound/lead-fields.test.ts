import t from "tap";
import { createLeadFetcher } from "../../../src/domain/inbound/lead-fields.ts";
import { createWebhookIntake, type IncomingWebhook } from "../../../src/domain/inbound/webhook-intake.ts";
import type { Lead, PageAccess } from "../../../src/platforms/pages/pages.ts";
import { readWebhook } from "../../../src/platforms/webhooks/read-webhook.ts";
import { MINUTE } from "../../../src/runtime/durations.ts";
import { openJson } from "../../../src/runtime/json/json-source.ts";
import { DEMO_ASSETS } from "../../../src/schema/demo-assets.ts";
import { createSecretBox } from "../../../src/security/secret-box.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { DatabaseUnavailable } from "../../../src/store/database/faults.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { configureWebhook } from "../../fixtures/events/events.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { startPlatforms } from "../../fixtures/platforms/platforms.ts";
import { readClientEvents, sendWebhook } from "../../fixtures/platforms/webhooks.ts";
import { makeChannel, newPlatformId, removeToken } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const LEAD = "120200000000000701";
const FIELDS = [{ name: "full_name", values: ["Ana Souza"] }];

/** As the platform writes it, with a number that JSON.parse would round. */
const changeOf = (leadId: string) =>
  `{"field": "leadgen", "value": {"leadgen_id": "${leadId}", "n": 12020000000000070199, "created_time": 1790000000}}`;

const leadWebhook = (pageId: string, leadIds: readonly string[]) =>
  `{"object": "page", "entry": [{"id": "${pageId}", "time": 1790000000, "changes": [${leadIds.map(changeOf)}]}]}`;

const startedPlatforms = startPlatforms(t);
const startedApi = startedPlatforms.then(({ base }) =>
  startApi(t, { settings: { SOCIAL_PLATFORM_URL: base } }),
);

/** Event data of the client's leads, in the order of their ids. */
const leadsOf = async (api: Api, client: { id: string }) =>
  (await readClientEvents(api, client.id))
    .filter(({ type }) => type === "lead.created")
    .map(({ payload }) => payload.data)
    .sort((one, other) => (one.lead_id < other.lead_id ? -1 : 1));

t.test("the fields of a lead are in its event when it is recorded", async (t) => {
  const [{ receivedCalls }, api] = await Promise.all([startedPlatforms, startedApi]);
  const tenant = await makeTenant(api);
  await configureWebhook(api, tenant);
  const { pageId, pageToken: token } = DEMO_ASSETS;
  const channelId = await makeChannel(api, tenant, { platform: "socialapp", pageId, token });
  const countReads = async () => (await receivedCalls()).filter(({ path }) => path.includes(LEAD)).length;

  t.equal((await sendWebhook(api, leadWebhook(pageId, [LEAD]))).status, 200);
  const [event] = await readClientEvents(api, tenant.id);
  t.match(event, { type: "lead.created", key: "marketing", channel_id: channelId, state: "pending" });
  t.match(event?.payload.data, { lead_id: LEAD, created_at: "2026-09-21T14:13:20.000Z", fields: FIELDS });
  const raw = `"raw":{"leadgen_id": "${LEAD}", "n": 12020000000000070199, "created_time": 1790000000}}`;
  t.ok(event?.text.endsWith(raw), "raw is as the platform wrote it");
  t.equal(await countReads(), 1);

  t.equal((await sendWebhook(api, leadWebhook(pageId, [LEAD]))).status, 200);
  t.equal(await countReads(), 1, "a repeated webhook fetches nothing");
  t.same((await readClientEvents(api, tenant.id)).length, 1);

  const unknown = "120200000000000799";
  const other = `{"field": "feed", "value": {"item": "comment", "verb": "add", "comment_id": "1_2", "from": {"id": "9"}}}`;
  const mixed = leadWebhook(pageId, [unknown, "x/../me"]).replace('"changes": [', `"changes": [${other}, `);
  t.equal((await sendWebhook(api, mixed)).status, 200);
  const [, ...rest] = await readClientEvents(api, tenant.id);
  t.same(rest.map(({ type }) => type).sort(), ["comment.created", "lead.created", "lead.created"]);
  t.notOk(
    rest.some(({ payload }) => "fields" in payload.data),
    "recorded without fields when the fetch fails",
  );
  const lines = api.lines.filter(({ event: name }) => name === "lead.fetch_failed");
  t.match(lines, [{ client: tenant.id, channel: channelId, lead_id: unknown }]);
  t.equal(lines.length, 1);
  t.notMatch(JSON.stringify(api.lines), token);

  await removeToken(api, channelId);
  t.equal((await sendWebhook(api, leadWebhook(pageId, ["120200000000000798"]))).status, 200);
  t.equal((await leadsOf(api, tenant)).length, 4, "a lead of a channel without a token is recorded too");
});

interface IntakeOptions {
  timeoutMs?: number;
  database?: (real: Database) => Database;
  readLead(page: PageAccess, leadId: string): Promise<Lead>;
}

/** An intake of its own, whose platform the test controls. */
async function setUp({ timeoutMs = 10 * MINUTE, database = (real) => real, readLead }: IntakeOptions) {
  const api = await startedApi;
  const { log, lines } = captureLog();
  const db = database(api.db);
  const secretBox = createSecretBox(api.config.ENCRYPTION_KEYS);
  const fetchLeads = createLeadFetcher({ db, secretBox, log, pages: { readLead } }, timeoutMs);
  const intake = createWebhookIntake({ db, notifier: { notify() {} }, fetchLeads }, 10 * MINUTE);
  const receive = (text: string) => {
    const webhook: IncomingWebhook = {
      updates: [...readWebhook(openJson(text)).updates],
      bytes: text.length,
    };
    return intake.receive(webhook);
  };
  const makeClient = async () => {
    const [tenant, pageId] = [await makeTenant(api), newPlatformId()];
    await makeChannel(api, tenant, { platform: "socialapp", pageId });
    return { tenant, pageId, receiveLeads: (ids: readonly string[]) => receive(leadWebhook(pageId, ids)) };
  };
  return { api, lines, makeClient };
}

t.test("a webhook is recorded without fields when the platform does not answer in time", async (t) => {
  const { platforms, arm } = await startedPlatforms;
  const { readLead } = platforms.social.pages;
  await arm({ kind: "delay", ms: 600_000, match: { path: `/${LEAD}` } });
  const { api, lines, makeClient } = await setUp({ readLead, timeoutMs: 100 });
  const { tenant, receiveLeads } = await makeClient();
  t.match((await receiveLeads([LEAD])).counts, { recorded: 1 });
  const [data] = await leadsOf(api, tenant);
  t.same(data, { lead_id: LEAD, created_at: "2026-09-21T14:13:20.000Z" });
  t.match(lines, [
    { event: "lead.fetch_failed", err: "the fields of the lead were not fetched within 100 ms" },
  ]);
});

t.test("the leads of one client delay neither other webhooks nor the leads of other clients", async (t) => {
  const held: (() => void)[] = [];
  const { api, makeClient } = await setUp({
    async readLead(_page, lead_id) {
      if (lead_id.startsWith("5")) await new Promise<void>((resolve) => held.push(resolve));
      return { lead_id, fields: FIELDS };
    },
  });
  const [busy, other] = [await makeClient(), await makeClient()];
  const busyIds = Array.from({ length: 21 }, (_, index) => `5${String(index).padStart(2, "0")}`);
  const received = busy.receiveLeads(busyIds);
  await until("the client's fetches are running", () => held.length === 4);
  t.match((await other.receiveLeads(["600"])).counts, { recorded: 1 });
  t.match(await leadsOf(api, other.tenant), [{ lead_id: "600", fields: FIELDS }]);
  t.equal(held.length, 4, "the client has four fetches at a time");
  t.same(await leadsOf(api, busy.tenant), []);
  let released = 0;
  await until("all of its fetches have run", () => {
    for (; released < held.length; released++) held[released]?.();
    return released === 20;
  });
  t.match((await received).counts, { recorded: 21 });
  const withFields = (await leadsOf(api, busy.tenant)).filter(({ fields }) => fields !== undefined);
  t.same(
    withFields.map(({ lead_id }) => lead_id),
    busyIds.slice(0, 20),
    "further leads of a webhook are recorded without fields",
  );
});

t.test(
  "a webhook whose lead cannot be looked up is not recorded, so that the platform repeats it",
  async (t) => {
    let isAway = true;
    const { api, makeClient } = await setUp({
      readLead: async (_page, lead_id) => ({ lead_id, fields: FIELDS }),
      database: (real) => ({
        ...real,
        query: (statement, values) =>
          isAway && JSON.stringify(statement).includes("event_fingerprints")
            ? Promise.reject(new DatabaseUnavailable(new Error("by the test")))
            : real.query(statement, values),
      }),
    });
    const { tenant, receiveLeads } = await makeClient();
    await t.rejects(receiveLeads(["700"]), DatabaseUnavailable);
    t.same(await leadsOf(api, tenant), []);
    isAway = false;
    await receiveLeads(["700"]);
    t.match(await leadsOf(api, tenant), [{ lead_id: "700", fields: FIELDS }]);
  },
);
