import t, { type Test } from "tap";
import { startApi } from "../../fixtures/http/api.ts";
import type { ReceivedCall } from "../../fixtures/platforms/platforms.ts";
import { type WatchedStatements, watchStatements } from "../../fixtures/servers/statements.ts";
import { type AdsContext, startAdsContext } from "../../fixtures/tenants/ad-grants.ts";
import {
  type ActiveAdvertiser,
  type AdResource,
  makeActiveAdvertiser,
  makeAdObjects,
  NEW_OBJECTS,
  receivedWrites,
} from "../../fixtures/tenants/ad-objects.ts";
import { until } from "../../fixtures/until.ts";

/** Creates a client that sends requests with Idempotency-Keys. */
async function makeKeyedAdvertiser(context: AdsContext, options = {}) {
  const advertiser = await makeActiveAdvertiser(context, options);
  const { headers } = await advertiser.createKey("marketing:read", "marketing:manage");
  const create = (resource: AdResource, key: string, fields: object = {}, query = "", api = context.api) =>
    api.call("POST", `/api/marketing/${resource}${query}`, {
      headers: { ...headers, "Idempotency-Key": key },
      json: { ad_account_id: advertiser.adAccountId, ...NEW_OBJECTS[resource], ...fields },
    });
  return { ...advertiser, createKeyed: create };
}

/** Another web process on the same database, which has no cached owners of objects. */
const startSecondApi = (t: Test, { api }: AdsContext, database: WatchedStatements["database"]) =>
  startApi(t, { config: api.config, gates: { terms: async () => {} }, database });

const namesOf = (writes: readonly ReceivedCall[]) => writes.map(({ body }) => body.name);

/** Ends the leases, as if a minute had passed. */
const expireLeases = ({ api }: AdsContext) =>
  api.db.query("update claimed_operations set leased_until = now() - interval '1 second'");

const auditOf = async ({ api }: AdsContext, { createUser }: ActiveAdvertiser) => {
  const { headers } = await createUser("owner");
  const { body } = await api.call("GET", "/api/audit?action=ad_object.create_ambiguous", { headers });
  return body.data;
};

t.test("creates with an Idempotency-Key", async (t) => {
  const context = await startAdsContext(t);
  const advertiser = await makeKeyedAdvertiser(context);
  const { campaign, adset, creative } = await makeAdObjects(advertiser);
  const references: Record<AdResource, object> = {
    campaigns: {},
    adsets: { campaign_id: campaign },
    ads: { adset_id: adset, creative: { creative_id: creative } },
    creatives: {},
  };
  const listed = async (resource: AdResource, name: string) =>
    (await advertiser.read(`/${resource}?limit=100`)).body.data.filter(
      (object: { name?: string }) => object.name === name,
    );

  // All kinds share these rules; what differs is how an ambiguous object is searched.
  const createCampaign = (key: string, name: string, query = "") =>
    advertiser.createKeyed("campaigns", key, { name }, query);

  t.test("a repeated request gets the first reply and creates nothing", async (t) => {
    const first = await createCampaign("repeat", "Repeated");
    t.equal(first.status, 201);
    t.equal(first.headers.get("idempotent-replay"), null);
    const again = await createCampaign("repeat", "Repeated");
    t.equal(again.status, 201);
    t.equal(again.headers.get("idempotent-replay"), "true");
    t.same(again.body, first.body);
    t.equal((await listed("campaigns", "Repeated")).length, 1);
    t.match(await createCampaign("repeat", "Other"), {
      status: 422,
      body: { error: "idempotency_key_reused" },
    });
  });

  t.test("a refused request frees the key", async (t) => {
    await context.arm({ kind: "error", match: { method: "POST" }, code: 100, subcode: 1885272 });
    t.match(await createCampaign("refused", "Refused"), { status: 400 });
    t.equal((await createCampaign("refused", "Another")).status, 201);
  });

  t.test("validate_only ignores the key", async (t) => {
    for (const name of ["One", "Two"])
      t.match(await createCampaign("validate", name, "?validate_only=true"), {
        status: 200,
        body: { valid: true },
      });
    t.equal((await createCampaign("validate", "Three")).status, 201);
  });

  for (const resource of ["campaigns", "adsets", "ads", "creatives"] as const) {
    const create = (key: string, name: string) =>
      advertiser.createKeyed(resource, key, { ...references[resource], name });

    t.test(`${resource}: an ambiguous create is found by the next request with the key`, async (t) => {
      await context.arm({ kind: "drop_after", match: { method: "POST" } });
      t.match(await create("dropped", "Dropped"), {
        status: 504,
        body: { error: "platform_timeout", retryable: false },
      });
      t.match(await create("dropped", "Different"), { status: 422 });
      const again = await create("dropped", "Dropped");
      t.equal(again.status, 201);
      t.equal(again.headers.get("idempotent-replay"), "true");
      t.match(again.body, { name: "Dropped" });
      const found = await listed(resource, "Dropped");
      t.same(
        found.map(({ id }: { id: string }) => id),
        [again.body.id],
      );
      t.same((await create("dropped", "Dropped")).body, again.body, "the reply is stored");
      t.match(await auditOf(context, advertiser), [
        {
          target: `${advertiser.adAccountId} Dropped`,
          details: { ad_account_id: advertiser.adAccountId, name: "Dropped" },
          actor: { type: "api_key" },
        },
      ]);
    });

    t.test(`${resource}: an ambiguous create without effect is repeated`, async (t) => {
      await context.arm({ kind: "drop_before", match: { method: "POST" } });
      t.equal((await create("lost", "Lost")).status, 504);
      const again = await create("lost", "Lost");
      t.equal(again.status, 201);
      t.equal(again.headers.get("idempotent-replay"), null);
      t.equal((await listed(resource, "Lost")).length, 1);
    });
  }

  t.test("a claim of a dead process counts as ambiguous when its lease has expired", async (t) => {
    for (const [name, kind] of [
      ["Before the call", "drop_before"],
      ["After the call", "drop_after"],
    ] as const) {
      const key = `dead-${kind}`;
      await context.arm({ kind, match: { method: "POST" } });
      await advertiser.createKeyed("campaigns", key, { name });
      await context.api.db.query(
        "update claimed_operations set state = 'claimed', leased_until = now() + interval '1 minute' where state = 'ambiguous'",
      );
      const early = await advertiser.createKeyed("campaigns", key, { name });
      t.match(early, { status: 409, body: { error: "idempotency_in_progress" } });
      t.equal(early.headers.get("retry-after"), "1");
      t.match(await advertiser.createKeyed("campaigns", key, { name: "Different" }), { status: 422 });
      await expireLeases(context);
      const later = await advertiser.createKeyed("campaigns", key, { name });
      t.equal(later.status, 201);
      t.equal(later.headers.get("idempotent-replay"), kind === "drop_after" ? "true" : null);
      t.equal((await listed("campaigns", name)).length, 1, name);
      const entries = (await auditOf(context, advertiser)).filter(
        ({ details }: { details: { name: string } }) => details.name === name,
      );
      t.equal(entries.length, 2, "the takeover is recorded too");
    }
  });

  t.test("the oldest of several objects with the name is returned, but none from before", async (t) => {
    const before = await advertiser.create("campaigns", { name: "Twin" });
    const secondAfter = Date.parse(before.body.created_time) + 1_000; // the platform cuts times to the second
    await until("the next second has begun", () => Date.now() >= secondAfter);
    await context.arm({ kind: "drop_after", match: { method: "POST" } });
    t.equal((await advertiser.createKeyed("campaigns", "twin", { name: "Twin" })).status, 504);
    const [first] = await listed("campaigns", "Twin");
    await advertiser.create("campaigns", { name: "Twin" });
    const again = await advertiser.createKeyed("campaigns", "twin", { name: "Twin" });
    t.equal(again.body.id, first.id);
    t.not(again.body.id, before.body.id);
  });

  t.test("an ad set of the same name in another campaign is not taken for the missing one", async (t) => {
    const { body: other } = await advertiser.create("campaigns", { name: "Other" });
    await context.arm({ kind: "drop_before", match: { method: "POST" } });
    const fields = { campaign_id: campaign, name: "Same name" };
    t.equal((await advertiser.createKeyed("adsets", "sibling", fields)).status, 504);
    await advertiser.create("adsets", { campaign_id: other.id, name: "Same name" });
    const again = await advertiser.createKeyed("adsets", "sibling", fields);
    t.match(again, { status: 201, body: { campaign_id: campaign } });
  });

  t.test("an ambiguous creative that cannot be recognized stays ambiguous", async (t) => {
    await context.arm({ kind: "drop_after", match: { method: "POST" } });
    const nameless = () => advertiser.createKeyed("creatives", "nameless", { name: undefined });
    for (let count = 0; count < 3; count++) t.match(await nameless(), { status: 504 });
    await context.arm({ kind: "drop_before", match: { method: "POST" } });
    const story = NEW_OBJECTS.creatives.object_story_spec;
    const [one, two] = ["One", "Two"].map((message) => ({
      name: "Ambiguous",
      object_story_spec: { ...story, link_data: { ...story.link_data, message } },
    }));
    t.equal((await advertiser.createKeyed("creatives", "unclear", one)).status, 504);
    t.equal((await advertiser.create("creatives", two)).status, 201);
    t.equal((await advertiser.createKeyed("creatives", "unclear", one)).status, 504);
    t.equal((await listed("creatives", "Ambiguous")).length, 1);
  });

  t.test("a failed search keeps the key ambiguous", async (t) => {
    await context.arm({ kind: "drop_after", match: { method: "POST" } });
    const create = () => advertiser.createKeyed("campaigns", "search", { name: "Searched" });
    t.equal((await create()).status, 504);
    await context.arm({ kind: "error", code: 100, match: { method: "GET" } });
    t.match(await create(), { status: 400, body: { error: "platform_invalid_request" } });
    t.equal((await create()).status, 201);
    t.equal((await listed("campaigns", "Searched")).length, 1);
  });

  t.test("two processes", async (t) => {
    let isTaking = false;
    let taken = 0;
    // Another process takes the operation over before the request renews its claim.
    const { database } = watchStatements(async (text) => {
      if (!isTaking || !/update claimed_operations\s+set leased_until/.test(text)) return;
      const rows = await context.api.db.query(
        "update claimed_operations set claim_id = gen_random_uuid() where state = 'claimed' returning 1",
      );
      taken += rows.length;
    });
    const second = await startSecondApi(t, context, database);

    t.test("concurrent requests create one object", async (t) => {
      const name = "Concurrent";
      const replies = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          advertiser.createKeyed("campaigns", "race", { name }, "", index % 2 ? second : context.api),
        ),
      );
      t.ok(
        replies.some(({ status, headers }) => status === 201 && headers.get("idempotent-replay") === null),
      );
      for (const { status } of replies) t.ok(status === 201 || status === 409, `${status}`);
      const ids = replies.filter(({ status }) => status === 201).map(({ body }) => body.id);
      t.equal(new Set(ids).size, 1);
      t.equal(namesOf(await receivedWrites(context)).filter((one) => one === name).length, 1);
    });

    t.test("a request that has lost its claim does not call the platform", async (t) => {
      isTaking = true;
      const name = "Lost claim";
      const reply = advertiser.createKeyed("adsets", "claim", { campaign_id: campaign, name }, "", second);
      t.match(await reply, { status: 409, body: { error: "idempotency_in_progress" } });
      t.equal(taken, 1);
      t.notOk(namesOf(await receivedWrites(context)).includes(name));
    });
  });

  t.test("a video is registered once per key, and an ambiguous one is never registered again", async (t) => {
    const { headers } = await advertiser.createKey("marketing:manage");
    const register = (key: string, name: string) =>
      context.api.call("POST", "/api/marketing/videos", {
        headers: { ...headers, "Idempotency-Key": key },
        json: {
          ad_account_id: advertiser.adAccountId,
          name,
          file_url: "https://shop.example/video.mp4",
        },
      });
    const first = await register("video", "Roast");
    t.equal(first.status, 200);
    const again = await register("video", "Roast");
    t.same(again.body, first.body);
    t.equal(again.headers.get("idempotent-replay"), "true");
    await context.arm({ kind: "drop_after", match: { method: "POST" } });
    for (let count = 0; count < 3; count++)
      t.match(await register("dropped-video", "Lost roast"), {
        status: 504,
        body: { error: "platform_timeout", retryable: false },
      });
    const names = namesOf(await receivedWrites(context));
    for (const name of ["Roast", "Lost roast"])
      t.equal(names.filter((one) => one === name).length, 1, `${name} was registered once`);
    t.match(await auditOf(context, advertiser), [{ target: `${advertiser.adAccountId} Lost roast` }]);
  });

  t.test("a replay answers even when the account is gone", async (t) => {
    const leaving = await makeKeyedAdvertiser(context, { account: "1600000000000106" });
    const first = await leaving.createKeyed("campaigns", "leaving");
    await leaving.call("PATCH", `/ad-accounts/${leaving.accountId}`, { status: "disabled" });
    const again = await leaving.createKeyed("campaigns", "leaving");
    t.match(again, { status: 201, body: first.body });
    t.match(await leaving.createKeyed("campaigns", "new"), { status: 409 });
    await leaving.call("PATCH", `/ad-accounts/${leaving.accountId}`, { status: "active" });
    t.equal((await leaving.createKeyed("campaigns", "new")).status, 201, "the refusal freed the key");
  });

  t.test("the same key of another client or for another kind is another operation", async (t) => {
    const other = await makeKeyedAdvertiser(context, { account: "1600000000000102" });
    const replies = [
      await advertiser.createKeyed("campaigns", "shared"),
      await other.createKeyed("campaigns", "shared"),
      await advertiser.createKeyed("creatives", "shared"),
    ];
    for (const { status, headers } of replies) {
      t.equal(status, 201);
      t.equal(headers.get("idempotent-replay"), null);
    }
    t.match(await advertiser.createKeyed("campaigns", "two words"), { status: 400 });
  });

  t.test("an ambiguous create without a key is in the audit log", async (t) => {
    await context.arm({ kind: "drop_after", match: { method: "POST" } });
    t.equal((await advertiser.create("campaigns", { name: "Unkeyed" })).status, 504);
    t.match(await auditOf(context, advertiser), [{ target: `${advertiser.adAccountId} Unkeyed` }]);
  });
});
