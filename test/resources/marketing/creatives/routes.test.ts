import t from "tap";
import { startAdsContext } from "../../../fixtures/tenants/ad-grants.ts";
import { makeActiveAdvertiser, NEW_OBJECTS, receivedWrites } from "../../../fixtures/tenants/ad-objects.ts";

/** An image that the account's library has from the start. */
const IMAGE_HASH = "abcdef01234567891600000000000101";
const { object_story_spec: STORY } = NEW_OBJECTS.creatives;

t.test("creatives", async (t) => {
  const context = await startAdsContext(t);
  const advertiser = await makeActiveAdvertiser(context);

  t.test("a creative is created from a page's story and read again", async (t) => {
    const object_story_spec = {
      ...STORY,
      link_data: {
        ...STORY.link_data,
        image_hash: IMAGE_HASH,
        call_to_action: { type: "WATCH_LIVE_VIDEO", value: { link: "https://shop.example/" } },
      },
    };
    const degrees_of_freedom_spec = { creative_features_spec: { x: { enroll_status: "OPT_OUT" } } };
    const { status, body } = await advertiser.create("creatives", {
      object_story_spec,
      degrees_of_freedom_spec,
    });
    t.match(
      { status, body },
      {
        status: 201,
        body: {
          id: /^\d+$/,
          name: "A cup",
          status: "ACTIVE",
          object_story_spec,
          image_hash: IMAGE_HASH,
          call_to_action_type: "WATCH_LIVE_VIDEO",
        },
      },
    );
    t.same((await receivedWrites(context)).at(-1)?.body, {
      name: "A cup",
      object_story_spec: JSON.stringify(object_story_spec),
      degrees_of_freedom_spec: JSON.stringify(degrees_of_freedom_spec),
    });
    t.same((await advertiser.read(`/creatives/${body.id}`)).body, body);
    t.match((await advertiser.read("/creatives")).body.data, [body]);
  });

  t.test("a creative needs no name and cannot be edited", async (t) => {
    const { status, body } = await advertiser.create("creatives", { name: undefined });
    t.equal(status, 201);
    t.notOk("name" in body);
    t.match(await advertiser.edit(`/creatives/${body.id}`, { name: "x" }), {
      status: 405,
      body: { error: "method_not_allowed" },
    });
  });

  t.test("bad input is refused with a message in words", async (t) => {
    const oneOf = /^object_story_spec must have exactly one of link_data and video_data$/;
    const refusals: readonly (readonly [spec: unknown, path: string, message: RegExp])[] = [
      [undefined, "/object_story_spec", /is required/],
      ["x", "/object_story_spec", /must be an object/],
      [{ page_id: "1" }, "/object_story_spec", oneOf],
      [{ ...STORY, video_data: { video_id: "1" } }, "/object_story_spec", oneOf],
      [{ link_data: {} }, "/object_story_spec/page_id", /is required/],
      [{ ...STORY, page_id: 1 }, "/object_story_spec/page_id", /must be a string/],
      [{ page_id: "1", link_data: null }, "/object_story_spec/link_data", /must be an object/],
      [{ page_id: "1", video_data: [] }, "/object_story_spec/video_data", /must be an object/],
    ];
    for (const [object_story_spec, path, message] of refusals)
      t.match(
        await advertiser.create("creatives", { object_story_spec }),
        { status: 400, body: { error: "validation_failed", details: [{ path, message }] } },
        JSON.stringify(object_story_spec),
      );
    t.match(await advertiser.create("creatives", { degrees_of_freedom_spec: [] }), { status: 400 });
    t.match(await advertiser.read("/creatives?status=ACTIVE"), {
      status: 400,
      body: { message: "status is not a known field" },
    });
  });

  t.test("a call to action that the platform does not know is refused by the platform", async (t) => {
    const call_to_action = { type: "SEE_MENU", value: { link: "https://shop.example/" } };
    const object_story_spec = { ...STORY, link_data: { ...STORY.link_data, call_to_action } };
    t.match(await advertiser.create("creatives", { object_story_spec }), {
      status: 400,
      body: { error: "platform_invalid_request" },
    });
  });
});
