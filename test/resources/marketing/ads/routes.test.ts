import t from "tap";
import { startAdsContext } from "../../../fixtures/tenants/ad-grants.ts";
import { makeActiveAdvertiser, makeAdObjects, receivedWrites } from "../../../fixtures/tenants/ad-objects.ts";

t.test("ads", async (t) => {
  const context = await startAdsContext(t);
  const advertiser = await makeActiveAdvertiser(context);
  const { campaign, adset, creative, ad } = await makeAdObjects(advertiser);
  const references = { adset_id: adset, creative: { creative_id: creative } };

  t.test("an ad joins an ad set with a creative", async (t) => {
    const tracking_specs = [{ "action.type": ["offsite_conversion"], fb_pixel: ["1"] }];
    const { status, body } = await advertiser.create("ads", { ...references, tracking_specs });
    t.match(
      { status, body },
      {
        status: 201,
        body: {
          name: "A cup in Brazil",
          adset_id: adset,
          campaign_id: campaign,
          status: "PAUSED",
          creative: { creative_id: creative },
        },
      },
    );
    t.notOk("id" in body.creative);
    t.match((await receivedWrites(context)).at(-1)?.body, {
      creative: JSON.stringify({ creative_id: creative }),
      tracking_specs: JSON.stringify(tracking_specs),
    });
  });

  t.test("the creative, the status and the name can be changed", async (t) => {
    const { body: second } = await advertiser.create("creatives", { name: "Two cups" });
    const { status, body } = await advertiser.edit(`/ads/${ad}`, {
      name: "Two cups in Brazil",
      status: "ACTIVE",
      creative: { creative_id: second.id },
    });
    t.match(
      { status, body },
      {
        status: 200,
        body: {
          name: "Two cups in Brazil",
          status: "ACTIVE",
          creative: { creative_id: second.id },
          adset_id: adset,
        },
      },
    );
  });

  t.test("adset_id cannot be changed, and not even be null", async (t) => {
    for (const adset_id of [adset, null, "", 1, {}])
      t.match(await advertiser.edit(`/ads/${ad}`, { adset_id, name: "Moved" }), {
        status: 400,
        body: {
          error: "validation_failed",
          details: [{ path: "/adset_id", message: /^adset_id cannot be changed: create a new ad/ }],
        },
      });
    t.notMatch((await advertiser.read(`/ads/${ad}`)).body, { name: "Moved" });
  });

  t.test("bad input is refused with a message in words", async (t) => {
    const refusals: readonly (readonly [fields: object, path: string, message: RegExp])[] = [
      [{ creative: undefined }, "/creative", /is required/],
      [{ creative: creative }, "/creative", /must be an object/],
      [{ creative: {} }, "/creative/creative_id", /is required/],
      [{ creative: { creative_id: "x" } }, "/creative/creative_id", /must look like/],
      [{ creative: { creative_id: creative, name: "x" } }, "/creative/name", /is not a known field/],
      [{ adset_id: undefined }, "/adset_id", /is required/],
      [{ adset_id: Number(adset) }, "/adset_id", /must be a string/],
      [{ tracking_specs: {} }, "/tracking_specs", /must be a list/],
      [{ tracking_specs: ["x"] }, "/tracking_specs/0", /must be an object/],
    ];
    for (const [fields, path, message] of refusals)
      t.match(
        await advertiser.create("ads", { ...references, ...fields }),
        { status: 400, body: { error: "validation_failed", details: [{ path, message }] } },
        JSON.stringify(fields),
      );
  });

  t.test("ads are listed by ad set and by campaign", async (t) => {
    const { body: otherSet } = await advertiser.create("adsets", { campaign_id: campaign });
    const { body: otherAd } = await advertiser.create("ads", { ...references, adset_id: otherSet.id });
    const list = async (query: string) =>
      (await advertiser.read(`/ads?${query}`)).body.data.map(({ id }: { id: string }) => id);
    t.same(await list(`adset_id=${otherSet.id}`), [otherAd.id]);
    t.ok((await list(`campaign_id=${campaign}`)).includes(ad));
    t.same(await list(`adset_id=${otherSet.id}&campaign_id=${campaign}`), [otherAd.id]);
    const { body: other } = await advertiser.create("campaigns", { name: "Other" });
    t.same(await list(`adset_id=${otherSet.id}&campaign_id=${other.id}`), []);
    t.same(await list(`adset_id=${otherSet.id}&status=ACTIVE`), []);
  });
});
