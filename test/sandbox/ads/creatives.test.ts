import { createHash } from "node:crypto";
import t from "tap";
import { CALLS_TO_ACTION } from "../../../src/sandbox/ads/enumerations.ts";
import {
  AD_ACCOUNT_ID,
  type AdPlatform,
  DEMO_ADS_TOKEN,
  startAdPlatform,
} from "../../fixtures/sandbox/ad-platform.ts";
import { callSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

const PAGE = "1300000000000401";
const LINK = { link: "https://shop.example/", message: "Coffee" };

/** Minimal images of known sizes. */
const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");
const PNG = Buffer.concat([
  Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"),
  Buffer.from([0, 0, 2, 88, 0, 0, 1, 44]),
]);
const JPEG = Buffer.from("ffd8ffe000044a46ffc0001108012c025803012200021101031101", "hex");

const upload = async (ads: AdPlatform, bytes: Buffer, form: Record<string, string> = {}) =>
  ads.post(`${AD_ACCOUNT_ID}/adimages`, { bytes: bytes.toString("base64"), ...form });

const postCreative = (ads: AdPlatform, spec: unknown, form: Record<string, string> = {}) =>
  ads.post(`${AD_ACCOUNT_ID}/adcreatives`, { object_story_spec: JSON.stringify(spec), ...form });

t.test("an image as base64 is answered under `bytes`, with the hash of its bytes and its size", async (t) => {
  const ads = await startAdPlatform(t);
  const hash = createHash("md5").update(PNG).digest("hex");
  const { body } = await upload(ads, PNG, { name: "cup.png" });
  t.match(body.images.bytes, { hash, name: "cup.png", width: 600, height: 300, url: /^https:/ });
  t.equal((await upload(ads, PNG)).body.images.bytes.hash, hash, "identical bytes give the same image");
  const listed = (
    await ads.get(`${AD_ACCOUNT_ID}/adimages`, { hashes: JSON.stringify([hash]), fields: "hash,width" })
  ).body;
  t.strictSame(listed.data, [{ hash, width: 600, id: `1600000000000101:${hash}` }]);
  t.strictSame((await ads.get(`${AD_ACCOUNT_ID}/adimages`, { hashes: '["0"]' })).body, { data: [] });
});

t.test("an image as a file is answered under its file name", async (t) => {
  const ads = await startAdPlatform(t);
  const body = new FormData();
  body.set("filename", new Blob([new Uint8Array(JPEG)]), "cup.jpg");
  const answer = await callSandbox(`${ads.base}/${AD_ACCOUNT_ID}/adimages`, { token: DEMO_ADS_TOKEN, body });
  t.match(answer.body.images["cup.jpg"], { width: 600, height: 300 });
});

t.test("the size of a GIF is read, and the size of a truncated image is omitted", async (t) => {
  const ads = await startAdPlatform(t);
  t.match((await upload(ads, GIF)).body.images.bytes, { width: 1, height: 1 });
  const { images } = (await upload(ads, PNG.subarray(0, 12))).body;
  t.notOk("width" in images.bytes);
});

t.test("a file that is not an image is refused", async (t) => {
  const ads = await startAdPlatform(t);
  for (const bytes of [
    Buffer.from("hello").toString("base64"),
    `data:image/gif;base64,${GIF.toString("base64")}`,
  ]) {
    const { status, body } = await ads.post(`${AD_ACCOUNT_ID}/adimages`, { bytes });
    t.equal(status, 400);
    t.match(body.error, { code: 100, error_subcode: 1487411, error_user_msg: String });
  }
  t.match((await ads.post(`${AD_ACCOUNT_ID}/adimages`)).body.error, { code: 100, message: /bytes/ });
});

t.test("a new video is processing and cannot be used", async (t) => {
  const ads = await startAdPlatform(t, { pace: 1000 });
  const form = { file_url: "https://cdn.example/film.mp4", name: "Film" };
  const { id } = (await ads.post(`${AD_ACCOUNT_ID}/advideos`, form)).body;
  const { body } = await ads.get(id, { fields: "status,title,length" });
  t.match(body, {
    title: "Film",
    length: Number,
    status: {
      video_status: "processing",
      processing_progress: 40,
      uploading_phase: { status: "complete" },
      processing_phase: { status: "in_progress", errors: [] },
      publishing_phase: { status: "not_started" },
    },
  });
  const spec = { page_id: PAGE, video_data: { video_id: id, image_url: "https://cdn.example/film.jpg" } };
  t.match((await postCreative(ads, spec)).body.error, { code: 100, error_subcode: 1885252 });
});

t.test("an unreachable video is refused, and an unreadable video ends with an error", async (t) => {
  const ads = await startAdPlatform(t);
  const post = (file_url: string) => ads.post(`${AD_ACCOUNT_ID}/advideos`, { file_url });
  t.match((await post("https://unreachable.example/film.mp4")).body.error, { code: 389 });
  t.match((await post("ftp://cdn.example/film.mp4")).body.error, { code: 100, message: /file_url/ });
  t.match((await ads.post(`${AD_ACCOUNT_ID}/advideos`)).body.error, { code: 100, message: /file_url/ });
  const { id } = (await post("https://cdn.example/broken.mp4")).body;
  await until("the processing failed", async () => {
    const { status } = (await ads.get(id, { fields: "status" })).body;
    return status.video_status === "error";
  });
  const spec = { page_id: PAGE, video_data: { video_id: id, image_url: "https://cdn.example/film.jpg" } };
  t.match((await postCreative(ads, spec)).body.error, { error_subcode: 1885252 });
});

t.test("a creative for a link includes fields derived from its story", async (t) => {
  const ads = await startAdPlatform(t);
  const { hash } = (await upload(ads, GIF)).body.images.bytes;
  const call_to_action = { type: "SHOP_NOW", value: { link: LINK.link } };
  const spec = { page_id: PAGE, link_data: { ...LINK, image_hash: hash, call_to_action } };
  const { id } = (await postCreative(ads, spec, { name: "A cup" })).body;
  const fields =
    "name,status,object_story_spec,object_story_id,effective_object_story_id,thumbnail_url,image_hash,image_url,video_id,call_to_action_type";
  const { effective_object_story_id, thumbnail_url, ...rest } = (await ads.get(id, { fields })).body;
  t.strictSame(rest, {
    id,
    name: "A cup",
    status: "ACTIVE",
    object_story_spec: spec,
    image_hash: hash,
    call_to_action_type: "SHOP_NOW",
  });
  t.match(effective_object_story_id, new RegExp(`^${PAGE}_\\d+$`));
  t.match(thumbnail_url, /^https:/);
});

const ODD: Record<string, unknown> = {
  "no page": { link_data: LINK },
  "no content": { page_id: PAGE },
  "two contents": { page_id: PAGE, link_data: LINK, video_data: { video_id: "1" } },
  "a content that is null": { page_id: PAGE, link_data: null },
  "link data without a link": { page_id: PAGE, link_data: { message: "Coffee" } },
  "video data without a video": { page_id: PAGE, video_data: { image_url: "https://cdn.example/film.jpg" } },
  "a missing image": { page_id: PAGE, link_data: { ...LINK, image_hash: "0".repeat(32) } },
  "a missing video": {
    page_id: PAGE,
    video_data: { video_id: "42", image_url: "https://cdn.example/" },
  },
  "a call to action that no longer exists": {
    page_id: PAGE,
    link_data: { ...LINK, call_to_action: { type: "SEE_MENU" } },
  },
};

/** Shared by the refusal tests, which create nothing. */
const shared = startAdPlatform(t);

for (const [what, spec] of Object.entries(ODD))
  t.test(`a creative with ${what} is refused`, async (t) => {
    const ads = await shared;
    const { status, body } = await postCreative(ads, spec);
    t.equal(status, 400);
    t.match(body.error, { code: 100 });
  });

t.test("a creative accepts the platform's 102 calls to action", async (t) => {
  const ads = await startAdPlatform(t);
  t.equal(new Set(CALLS_TO_ACTION).size, 102);
  for (const type of ["ADD_TO_CART", "BUY_TICKETS", "GET_A_QUOTE", "WOODHENGE_SUPPORT", "NO_BUTTON"]) {
    const { body } = await postCreative(ads, {
      page_id: PAGE,
      link_data: { ...LINK, call_to_action: { type } },
    });
    const shown = (await ads.get(body.id, { fields: "call_to_action_type" })).body;
    t.equal(shown.call_to_action_type, type);
  }
});

t.test("a creative requires a story that is a JSON object", async (t) => {
  const ads = await startAdPlatform(t);
  t.match((await ads.post(`${AD_ACCOUNT_ID}/adcreatives`, { name: "x" })).body.error, {
    message: /object_story_spec/,
  });
  t.match((await postCreative(ads, "a story")).body.error, { message: /JSON object/ });
});

t.test("only the name, the status and the labels of a creative can be changed", async (t) => {
  const ads = await startAdPlatform(t);
  const id = await ads.create("adcreatives");
  t.strictSame((await ads.post(id, { name: "Another" })).body, { success: true });
  const spec = JSON.stringify({ page_id: PAGE, link_data: LINK });
  t.match((await ads.post(id, { object_story_spec: spec })).body.error, {
    code: 100,
    error_user_title: /Changed/,
  });
  t.match((await ads.get(id)).body, { id, name: "Another", status: "ACTIVE" }, "default fields are shown");
  await ads.remove(id);
  t.strictSame((await ads.get(`${AD_ACCOUNT_ID}/adcreatives`)).body.data, []);
});

t.test("500,000 spaces in place of an image do not block the process", async (t) => {
  const ads = await startAdPlatform(t);
  const began = Date.now();
  const spaces = await ads.post(`${AD_ACCOUNT_ID}/adimages`, { bytes: `${" ".repeat(500_000)}!` });
  t.equal(spaces.status, 400);
  t.ok(Date.now() - began < 20_000, "quadratic time would be minutes");
  const broken = PNG.toString("base64").replaceAll(/.{76}/g, "$&\r\n");
  t.equal(
    (await ads.post(`${AD_ACCOUNT_ID}/adimages`, { bytes: broken })).status,
    200,
    "line breaks are ignored",
  );
});

t.test("an object in place of a page's or a video's id is refused", async (t) => {
  const ads = await startAdPlatform(t);
  const odd = { toString: 1 };
  for (const spec of [
    { page_id: odd, link_data: { link: "https://shop.example/" } },
    { page_id: "1300000000000401", video_data: { video_id: odd } },
  ]) {
    const form = { name: "Odd", object_story_spec: JSON.stringify(spec) };
    const { status, body } = await ads.post(`${AD_ACCOUNT_ID}/adcreatives`, form);
    t.equal(status, 400);
    t.match(body.error, { code: 100 });
  }
});
