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
  const isClaimed = async () => {
    const { rows } = await database.query("select 1 from claimed_operations where state = 'claimed'");
    return rows.length === 1;
  };

  /** The first GET of the create is delayed, and the process is killed during that delay. */
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

  for (const { moment, resource, fields, created } of moments)
    t.test(`killed ${moment}`, async (t) => {
      const key = moment.replaceAll(" ", "-");
      const creations = async () =>
        (await requests()).filter(
          ({ path, body }) => path.endsWith(`/${resource}`) && body?.name === fields.name,
        ).length;
      const reads = async () => (await requests()).filter(({ method }) => method === "GET").length;
      const web = await startWeb(t, { ...settings, PORT: "0" });
      const readsBefore = await reads();
      await arm({ kind: "delay", ms: 30_000, match: { method: "GET" } });
      const lost = fetch(`${web.address}/api/marketing/${resource}`, {
        method: "POST",
        headers: { "x-svc-api-key": apiKey, "Idempotency-Key": key },
        body: JSON.stringify({ ...ACCOUNT, ...fields }),
      }).catch(() => undefined);
      await until("the operation is claimed", isClaimed);
      await until("the delayed read has arrived", async () => (await reads()) > readsBefore);
      await web.stop("SIGKILL");
      t.equal(await lost, undefined, "the caller got no reply");
      t.equal(await creations(), created);

      const early = await create(resource, fields, key);
      t.match(early, { status: 409, body: { error: "idempotency_in_progress" } });
      await database.query("update claimed_operations set leased_until = now()"); // as if a minute had passed
      const later = await create(resource, fields, key);
      t.match(later, { status: 201, body: { name: fields.name } });
      t.equal(later.headers.get("idempotent-replay"), created === 1 ? "true" : null);
      t.same((await create(resource, fields, key)).body, later.body);
      t.equal(await creations(), 1, "the platform received one create");
    });
});
