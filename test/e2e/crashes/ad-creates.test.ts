import t from "tap";
import { startSandboxApi } from "../../fixtures/processes/local-cluster.ts";
import { startWeb } from "../../fixtures/processes/processes.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { NEW_OBJECTS } from "../../fixtures/tenants/ad-objects.ts";
import { until } from "../../fixtures/until.ts";

const ACCOUNT = { ad_account_id: "act_1600000000000101" };

t.test("a create with an Idempotency-Key is not doubled when its process is killed", async (t) => {
  const { settings, apiKey, callApi, arm, requests } = await startSandboxApi(t);
  const database = await connectRawClient(t, settings.DATABASE_URL as string);
  const create = (resource: "campaigns" | "adsets", fields: object, key: string) =>
    callApi("POST", `/api/marketing/${resource}`, { ...ACCOUNT, ...fields }, { "Idempotency-Key": key });
  const { body: campaign } = await create("campaigns", NEW_OBJECTS.campaigns, "parent");
  const countClaimed = async () => {
    const { rows } = await database.query("select 1 from claimed_operations where state = 'claimed'");
    return rows.length;
  };

  /** The first GET of each create is delayed, and the process is killed during both delays. */
  const moments = [
    {
      moment: "between claim and call",
      resource: "adsets", // its first GET checks the account of the campaign
      fields: { ...NEW_OBJECTS.adsets, name: "Checked", campaign_id: campaign.id },
      created: 0,
    },
    {
      moment: "between call and completion",
      resource: "campaigns", // its first GET reads the new campaign
      fields: { ...NEW_OBJECTS.campaigns, name: "Created" },
      created: 1,
    },
  ] as const;

  const web = await startWeb(t, { ...settings, PORT: "0" });
  const creationsOf = async (name: string) =>
    (await requests()).filter(({ method, body }) => method === "POST" && body?.name === name).length;
  const countReads = async () => (await requests()).filter(({ method }) => method === "GET").length;
  const keyOf = (moment: string) => moment.replaceAll(" ", "-");
  const readsBefore = await countReads();
  await arm({ kind: "delay", ms: 120_000, times: moments.length, match: { method: "GET" } });
  const lost = moments.map(({ moment, resource, fields }) =>
    fetch(`${web.address}/api/marketing/${resource}`, {
      method: "POST",
      headers: { "x-svc-api-key": apiKey, "Idempotency-Key": keyOf(moment) },
      body: JSON.stringify({ ...ACCOUNT, ...fields }),
    }).catch(() => undefined),
  );
  await until("the operations are claimed", async () => (await countClaimed()) === moments.length);
  await until("the delayed reads have arrived", async () => (await countReads()) === readsBefore + 2);
  await web.stop("SIGKILL");
  t.same(await Promise.all(lost), [undefined, undefined], "the callers got no reply");

  for (const { moment, resource, fields, created } of moments) {
    t.equal(await creationsOf(fields.name), created, moment);
    const early = await create(resource, fields, keyOf(moment));
    t.match(early, { status: 409, body: { error: "idempotency_in_progress" } }, moment);
  }
  await database.query("update claimed_operations set leased_until = now()"); // as if a minute had passed
  for (const { moment, resource, fields, created } of moments) {
    const key = keyOf(moment);
    const later = await create(resource, fields, key);
    t.match(later, { status: 201, body: { name: fields.name } }, moment);
    t.equal(later.headers.get("idempotent-replay"), created === 1 ? "true" : null);
    t.same((await create(resource, fields, key)).body, later.body);
    t.equal(await creationsOf(fields.name), 1, "the platform received one create");
  }
});
