import t from "tap";
import { AD_ACCOUNTS, hasDeadToken } from "../../../src/sandbox/built-in-assets.ts";
import {
  AD_ACCOUNT_ID,
  type AdPlatform,
  issueAdToken,
  startAdPlatform,
} from "../../fixtures/sandbox/ad-platform.ts";
import { until } from "../../fixtures/until.ts";

const PAGE = "1300000000000401";
const LINK = "https://shop.example/";
const OWN_HASH = "abcdef01234567891600000000000101";
const OTHER_HASH = "abcdef01234567891600000000000102";
const OTHER_ACCOUNT_ID = "act_1600000000000102";
const BOTH_ACCOUNTS = issueAdToken(["1600000000000101", "1600000000000102"]);

const postCreative = (ads: AdPlatform, spec: object) =>
  ads.post(`${AD_ACCOUNT_ID}/adcreatives`, {
    object_story_spec: JSON.stringify({ page_id: PAGE, ...spec }),
  });

const postCarousel = (ads: AdPlatform, cards: unknown) =>
  postCreative(ads, { link_data: { link: LINK, child_attachments: cards } });

async function readyVideo(ads: AdPlatform, account: string): Promise<string> {
  const form = { file_url: "https://cdn.example/film.mp4" };
  const { id } = (await ads.post(`${account}/advideos`, form, BOTH_ACCOUNTS)).body;
  await until("the video is ready", async () => {
    const { body } = await ads.get(id, { fields: "status" }, BOTH_ACCOUNTS);
    return body.status.video_status === "ready";
  });
  return id;
}

t.test("every account has one image from the start, with its own hash", async (t) => {
  const ads = await startAdPlatform(t);
  const live = AD_ACCOUNTS.filter(({ id }) => !hasDeadToken(id));
  for (const { id, imageHash } of live) {
    const { body } = await ads.get(`act_${id}/adimages`, { fields: "hash" }, issueAdToken([id]));
    t.strictSame(body.data, [{ hash: imageHash, id: `${id}:${imageHash}` }]);
    t.match(imageHash, /^[0-9a-f]{32}$/);
  }
  t.equal(new Set(AD_ACCOUNTS.map(({ imageHash }) => imageHash)).size, AD_ACCOUNTS.length);
});

t.test("a creative can use its account's built-in image, but no other account's", async (t) => {
  const ads = await startAdPlatform(t);
  const video_id = await readyVideo(ads, AD_ACCOUNT_ID);
  const stories = (image_hash: string) => [
    { link_data: { link: LINK, image_hash } },
    { photo_data: { image_hash } },
    { video_data: { video_id, image_hash } },
    { link_data: { link: LINK, child_attachments: [{ link: LINK }, { link: LINK, image_hash }] } },
  ];
  for (const story of stories(OWN_HASH)) t.equal((await postCreative(ads, story)).status, 200);
  for (const story of stories(OTHER_HASH)) {
    const { status, body } = await postCreative(ads, story);
    t.equal(status, 400, JSON.stringify(story));
    t.match(body.error, { code: 100, error_user_title: "Image Not Found" });
  }
});

t.test("a creative for a video includes the video and requires a thumbnail", async (t) => {
  const ads = await startAdPlatform(t);
  const video_id = await readyVideo(ads, AD_ACCOUNT_ID);
  const image_url = "https://cdn.example/film.jpg";
  const { id } = (await postCreative(ads, { video_data: { video_id, image_url } })).body;
  const fields = "video_id,image_url,name";
  t.strictSame((await ads.get(id, { fields })).body, { id, video_id, image_url });
  t.match((await postCreative(ads, { video_data: { video_id } })).body.error, {
    code: 100,
    error_user_title: /Thumbnail/,
  });
});

t.test("a carousel can use ready videos of its account only", async (t) => {
  const ads = await startAdPlatform(t);
  const own = await readyVideo(ads, AD_ACCOUNT_ID);
  const other = await readyVideo(ads, OTHER_ACCOUNT_ID);
  const { id: broken } = (
    await ads.post(`${AD_ACCOUNT_ID}/advideos`, { file_url: "https://cdn.example/broken.mp4" })
  ).body;
  const post = (video_id: unknown) => postCarousel(ads, [{ link: LINK }, { link: LINK, video_id }]);
  t.equal((await post(own)).status, 200);
  for (const video_id of [other, "42"])
    t.match((await post(video_id)).body.error, { code: 100, error_user_title: "Video Not Found" });
  t.match((await post(broken)).body.error, { code: 100, error_subcode: 1885252 });
  t.match((await post({ toString: 1 })).body.error, { code: 100 });
});

t.test("carousel cards that are not a list of objects are refused", async (t) => {
  const ads = await startAdPlatform(t);
  for (const cards of ["card", { link: LINK }, [null], ["card"], [[]]]) {
    const { status, body } = await postCarousel(ads, cards);
    t.equal(status, 400, JSON.stringify(cards));
    t.match(body.error, { code: 100, error_user_title: "Post Can't Be Created" });
  }
});
