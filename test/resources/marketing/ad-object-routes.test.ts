import t from "tap";
import { checkRequestIds } from "../../fixtures/captured-log.ts";
import { grantAdAccount } from "../../fixtures/tenants/ad-accounts.ts";
import { type AdsContext, startAdsContext } from "../../fixtures/tenants/ad-grants.ts";
import {
  type AdObjectIds,
  type AdResource,
  makeActiveAdvertiser,
  makeAdObjects,
  NEW_OBJECTS,
  receivedWrites,
} from "../../fixtures/tenants/ad-objects.ts";

/** The behaviour that all kinds of ad objects share. */

const RESOURCES: readonly AdResource[] = ["campaigns", "adsets", "ads", "creatives"];
const EDITABLE: readonly AdResource[] = ["campaigns", "adsets", "ads"];

/** The statuses of accounts that cannot be used, and their errors. */
const INACTIVE = [
  ["disabled", "ad_account_not_active"],
  ["available", "ad_account_not_active"],
  ["revoked", "ad_account_revoked"],
] as const;

/** The id of the object of each resource. */
const idOf = (resource: AdResource, { campaign, adset, ad, creative }: AdObjectIds) =>
  ({ campaigns: campaign, adsets: adset, ads: ad, creatives: creative })[resource];

/** The ids that a new object of the resource refers to. */
const referencesOf = (resource: AdResource, { campaign, adset, creative }: AdObjectIds): object =>
  ({
    campaigns: {},
    adsets: { campaign_id: campaign },
    ads: { adset_id: adset, creative: { creative_id: creative } },
    creatives: {},
  })[resource];

const countWrites = async (context: AdsContext) => (await receivedWrites(context)).length;

t.test("ad objects", async (t) => {
  const context = await startAdsContext(t);
  const advertiser = await makeActiveAdvertiser(context);
  const ids = await makeAdObjects(advertiser);
  const { adAccountId } = advertiser;

  for (const resource of RESOURCES) {
    const path = `/${resource}/${idOf(resource, ids)}`;
    const references = referencesOf(resource, ids);

    t.test(`${resource}: an object that cannot be read again is returned as it was written`, async (t) => {
      await context.arm({ kind: "error", match: { method: "GET" }, code: 100, times: 10 });
      const { status, body } = await advertiser.create(resource, { name: "Unread", ...references });
      t.equal(status, 201);
      t.match(body, { id: /^\d+$/, name: "Unread" });
      const edited = EDITABLE.includes(resource) ? await advertiser.edit(path, { name: "New" }) : undefined;
      if (edited) t.same(edited.body, { id: idOf(resource, ids), name: "New" });
      const paused = edited && (await advertiser.edit(path, { status: "PAUSED" }));
      if (paused) t.same(paused.body, { id: idOf(resource, ids), name: "", status: "PAUSED" });
      await context.clearFaults();
      const { body: read } = await advertiser.read(`/${resource}/${body.id}`);
      const known = Object.keys(body);
      t.same(Object.fromEntries(known.map((name) => [name, read[name]])), { ...body, ...shownLater(read) });
      t.match(
        context.api.lines.filter(({ event }) => event === "ad_object.read_failed"),
        [{ level: "warn", client: advertiser.id, ad_account: adAccountId, object: body.id }],
      );
      context.api.lines.length = 0;
    });

    t.test(`${resource}: validate_only checks a create and creates nothing`, async (t) => {
      const create = (fields: object) =>
        advertiser.call("POST", `/${resource}?validate_only=true`, {
          ad_account_id: adAccountId,
          ...fields,
        });
      const listed = async () => (await advertiser.read(`/${resource}?limit=100`)).body.data.length;
      const before = await listed();
      const valid = { ...NEW_OBJECTS[resource], ...references };
      t.match(await create(valid), { status: 200, body: { valid: true } });
      t.match((await receivedWrites(context)).at(-1)?.body, { execution_options: '["validate_only"]' });
      const writes = await countWrites(context);
      t.match(await create({ ...valid, name: "" }), { status: 400, body: { error: "validation_failed" } });
      t.equal(await countWrites(context), writes, "our own checks come first");
      await context.arm({ kind: "error", match: { method: "POST" }, code: 100, subcode: 1885272 });
      t.match(await create(valid), {
        status: 400,
        body: { error: "platform_invalid_request", platform_error: { code: 100, subcode: 1885272 } },
      });
      t.equal(await listed(), before);
      t.match(await advertiser.call("POST", `/${resource}?validate_only=yes`, valid), { status: 400 });
    });

    t.test(
      `${resource}: an account is found only if it is the client's, and used only if it is active`,
      async (t) => {
        const calls = (id: string) => [
          advertiser.call("POST", `/${resource}`, {
            ...NEW_OBJECTS[resource],
            ...references,
            ad_account_id: id,
          }),
          advertiser.call("GET", `${path}?ad_account_id=${id}`),
          advertiser.call("GET", `/${resource}?ad_account_id=${id}`),
          ...(EDITABLE.includes(resource)
            ? [advertiser.call("PATCH", path, { ad_account_id: id, name: "x" })]
            : []),
        ];
        for (const reply of await Promise.all(calls("act_1")))
          t.match(reply, { status: 404, body: { error: "not_found" } });
        for (const reply of await Promise.all(calls("1600000000000101")))
          t.match(reply, { status: 400, body: { details: [{ path: "/ad_account_id" }] } });
        // Each resource checks that the account is active; the errors are the same for all.
        for (const [status, error] of resource === "campaigns" ? INACTIVE : INACTIVE.slice(0, 1)) {
          const { adAccountId: other } = await grantAdAccount(context.api, advertiser, { status });
          for (const reply of await Promise.all(calls(other)))
            t.match(reply, { status: 409, body: { error } }, status);
        }
      },
    );

    t.test(`${resource}: wrong ids and parameters are refused`, async (t) => {
      const refused = [
        await advertiser.read(`/${resource}/act_1`),
        await advertiser.read(`/${resource}/1x`),
        await advertiser.call("GET", path),
        await advertiser.read(`${path}?fields=name`),
        await advertiser.read(`/${resource}?limit=0`),
        await advertiser.read(`/${resource}?after=x`),
        await advertiser.read(`/${resource}?status=RUNNING`),
        await advertiser.create(resource, { ...references, unknown: 1 }),
      ];
      for (const reply of refused) t.match(reply, { status: 400, body: { error: "validation_failed" } });
      t.match(await advertiser.read(`/${resource}/1`), {
        status: 404,
        body: { error: "platform_object_not_found" },
      });
    });
  }

  for (const resource of EDITABLE) {
    const path = `/${resource}/${idOf(resource, ids)}`;

    t.test(`${resource}: an edit sends only the given fields`, async (t) => {
      const { status, body } = await advertiser.edit(path, { name: "Renamed", status: null });
      t.match({ status, body }, { status: 200, body: { name: "Renamed", status: "PAUSED" } });
      t.same((await receivedWrites(context)).at(-1)?.body, { name: "Renamed" });
    });

    t.test(`${resource}: an edit without changes reads the object and writes nothing`, async (t) => {
      const writes = await countWrites(context);
      const read = (await advertiser.read(path)).body;
      t.same((await advertiser.edit(path, {})).body, read);
      t.same((await advertiser.edit(path, { name: null, status: null })).body, read);
      t.equal(await countWrites(context), writes);
    });

    t.test(`${resource}: validate_only checks an edit and changes nothing`, async (t) => {
      const before = (await advertiser.read(path)).body;
      const validate = (fields: object) =>
        advertiser.call("PATCH", `${path}?validate_only=true`, { ad_account_id: adAccountId, ...fields });
      t.match(await validate({ name: "Other" }), { status: 200, body: { valid: true } });
      t.match(await validate({ status: "RUNNING" }), { status: 400 });
      t.same((await advertiser.read(path)).body, before);
    });
  }

  // The tests of Idempotency-Keys show it for each resource.
  t.test("a create without an answer is not repeated, and may have happened", async (t) => {
    const writes = await countWrites(context);
    await context.arm({ kind: "drop_after", match: { method: "POST" } });
    t.match(await advertiser.create("campaigns"), {
      status: 504,
      body: { error: "platform_timeout", retryable: false, message: /may exist/ },
    });
    t.equal(await countWrites(context), writes + 1);
  });

  t.test("the routes, from which the OpenAPI document is generated, contain every endpoint", async (t) => {
    const methodsOf = (end: string) =>
      context.api.routes
        .filter(({ path }) => path === `/api/marketing/${end}`)
        .map(({ method }) => method)
        .sort();
    for (const resource of RESOURCES) t.same(methodsOf(resource), ["get", "post"], resource);
    for (const path of ["campaigns/{campaignId}", "adsets/{adSetId}", "ads/{adId}"])
      t.same(methodsOf(path), ["get", "patch"], path);
    t.same(methodsOf("creatives/{creativeId}"), ["get"]);
    t.same(methodsOf("enums"), ["get"]);
  });

  t.test("a dead token revokes the account", async (t) => {
    const other = await makeActiveAdvertiser(context, { account: "1600000000000103" });
    await context.arm({ kind: "dead_token", match: { path_prefix: "/v26.0/act_1600000000000103" } });
    t.match(await other.read("/campaigns"), { status: 409, body: { error: "ad_account_revoked" } });
    t.match((await other.call("GET", `/ad-accounts/${other.accountId}`)).body, { status: "revoked" });
    t.match(await other.create("campaigns"), { status: 409, body: { error: "ad_account_revoked" } });
    await context.clearFaults();
  });

  t.test("a list is read in pages, and its cursors fit only this list", async (t) => {
    const other = await makeActiveAdvertiser(context, { account: "1600000000000104" });
    const names = ["One", "Two", "Three", "Four", "Five"];
    for (const name of names)
      await other.create("campaigns", { name, status: name === "Three" ? "ACTIVE" : "PAUSED" });
    const collected: string[] = [];
    let query = "limit=2";
    for (let more = true; more; ) {
      const { body } = await other.read(`/campaigns?${query}`);
      collected.push(...body.data.map(({ name }: { name: string }) => name));
      more = body.paging.has_more;
      query = `limit=2&after=${body.paging.cursors.after}`;
    }
    t.same(collected, names.toReversed());
    const first = (await other.read("/campaigns?limit=3")).body;
    const second = (await other.read(`/campaigns?limit=3&after=${first.paging.cursors.after}`)).body;
    const back = (await other.read(`/campaigns?limit=3&before=${second.paging.cursors.before}`)).body;
    t.same(back.data, first.data);
    t.equal(back.paging.has_more, false, "there are no items before the first page");
    const last = (await other.read(`/campaigns?limit=1&before=${second.paging.cursors.before}`)).body;
    t.match(last, { data: [first.data[2]], paging: { has_more: true } });
    t.same(
      (await other.read("/campaigns?status=ACTIVE")).body.data.map(({ name }: { name: string }) => name),
      ["Three"],
    );
    const paused = (await other.read("/campaigns?status=PAUSED&limit=1")).body;
    t.match(paused, { data: [{ name: "Five" }], paging: { has_more: true } });
    const { after } = paused.paging.cursors;
    t.match(await other.read(`/campaigns?status=PAUSED&limit=9&after=${after}`), {
      body: { data: [{ name: "Four" }, { name: "Two" }, { name: "One" }], paging: { has_more: false } },
    });
    const orderly = (await advertiser.read(`/adsets?campaign_id=${ids.campaign}&status=PAUSED&limit=1`)).body;
    const position = orderly.paging.cursors.after;
    t.equal(
      (await advertiser.read(`/adsets?status=PAUSED&campaign_id=${ids.campaign}&after=${position}`)).status,
      200,
      "the order of the parameters does not matter",
    );
    for (const foreign of [
      other.read(`/campaigns?limit=1&after=${after}`),
      other.read(`/adsets?status=PAUSED&after=${after}`),
      advertiser.read(`/campaigns?status=PAUSED&after=${after}`),
    ])
      t.match(await foreign, { status: 400, body: { details: [{ path: "/after" }] } });
    t.notMatch(JSON.stringify(first), /access_token/);
  });

  t.test("an id of another kind is neither read nor edited", async (t) => {
    const path = `/campaigns/${ids.adset}`;
    for (const reply of [await advertiser.edit(path, { name: "x" }), await advertiser.read(path)])
      t.match(reply, { status: 404, body: { error: "platform_object_not_found" } });
  });

  t.test("the log names the request of each platform call", async (t) => {
    checkRequestIds(t, context.api.lines);
  });
});

/** Fields whose value at the platform differs from what was written. */
const shownLater = ({ creative }: { creative?: object }) => (creative ? { creative } : {});
