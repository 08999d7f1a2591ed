import t from "tap";
import { SCOPES } from "../../../../src/schema/enumerations.ts";
import { startApi } from "../../../fixtures/http/api.ts";
import { imageOfSize, MIB, TINY_IMAGES } from "../../../fixtures/images/images.ts";
import { startScriptedAdPlatform } from "../../../fixtures/platforms/scripted-ad-platform.ts";
import { grantAdAccount } from "../../../fixtures/tenants/ad-accounts.ts";
import { DEAD_TOKEN_ACCOUNT_ID, startAdsContext } from "../../../fixtures/tenants/ad-grants.ts";
import { makeActiveAdvertiser, receivedWrites } from "../../../fixtures/tenants/ad-objects.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";

const MAX_IMAGE_BYTES = 7 * MIB;
const MAX_BODY_BYTES = 10 * MIB;

t.test("images", async (t) => {
  const context = await startAdsContext(t);
  const advertiser = await makeActiveAdvertiser(context);
  const { headers } = await advertiser.createKey("marketing:manage");
  const { adAccountId: ad_account_id } = advertiser;
  const upload = (fields: object) => advertiser.call("POST", "/images", { ad_account_id, ...fields });
  const uploadRaw = (raw: string | Buffer) =>
    context.api.call("POST", "/api/marketing/images", { headers, raw });

  t.test("an image is uploaded and can be used in a creative", async (t) => {
    const { status, body } = await upload({ name: "cup.png", bytes_base64: TINY_IMAGES.png });
    t.match(
      { status, body },
      { status: 200, body: { hash: /^[0-9a-f]{32}$/, url: /^https/, width: 3, height: 2, name: "cup.png" } },
    );
    t.match((await receivedWrites(context)).at(-1)?.headers, { "content-type": /^multipart\/form-data/ });
    const again = await upload({ bytes_base64: TINY_IMAGES.png });
    t.equal(again.body.hash, body.hash, "the same file has the same hash");
    const link_data = { link: "https://shop.example/", image_hash: body.hash };
    const object_story_spec = { page_id: "1300000000000401", link_data };
    t.match(await advertiser.create("creatives", { object_story_spec }), { status: 201 });
  });

  t.test("the largest image passes, and one byte more is too large", async (t) => {
    t.match(await upload({ bytes_base64: imageOfSize(MAX_IMAGE_BYTES) }), { status: 200 });
    t.match(await upload({ bytes_base64: imageOfSize(MAX_IMAGE_BYTES + 1) }), {
      status: 413,
      body: { error: "image_too_large", message: "The image is larger than 7340032 bytes" },
    });
  });

  t.test("the body limit counts every byte of the body", async (t) => {
    const json = JSON.stringify({ ad_account_id, bytes_base64: TINY_IMAGES.png });
    const padded = (bytes: number) => json + " ".repeat(bytes - json.length);
    t.match(await uploadRaw(padded(MAX_BODY_BYTES)), { status: 200 });
    t.match(await uploadRaw(padded(MAX_BODY_BYTES + 1)), {
      status: 413,
      body: { error: "payload_too_large" },
    });
  });

  t.test("a text that is not strict base64 is refused", async (t) => {
    const { png } = TINY_IMAGES;
    const texts = [
      "",
      `data:image/png;base64,${png}`,
      `${png}\n`,
      `${png}=`,
      png.slice(0, -1),
      `-${png.slice(1)}`,
    ];
    for (const bytes_base64 of texts)
      t.match(
        await upload({ bytes_base64 }),
        {
          status: 400,
          body: {
            error: "invalid_image",
            message: /^bytes_base64 must be strict base64: .*without the data: prefix and /,
            details: [{ path: "/bytes_base64" }],
          },
        },
        bytes_base64.slice(0, 30),
      );
  });

  t.test("a body is refused with the errors of every other endpoint", async (t) => {
    // The body of a new video is parsed by the pipeline.
    const parsed = (raw: string | Buffer) =>
      context.api.call("POST", "/api/marketing/videos", { headers, raw });
    const bodies = [
      "",
      "no JSON",
      "[]",
      '"text"',
      "null",
      Buffer.from([0x7b, 0xff, 0x7d]),
      `{"a":${"[".repeat(200)}${"]".repeat(200)}}`,
      `{"a":[${"1,".repeat(60_000)}1]}`,
      '{"ad_account_id":"act_1\\u0000"}',
      '{"ad_account_id":1,"name":2}',
      '{"ad_account_id":"1","name":""}',
      '{"ad_account_id":"act_1","unknown":1}',
      `{"ad_account_id":"act_1","name":"${"x".repeat(1_001)}"}`,
      `{"ad_account_id":"act_1","unknown":"${"x".repeat(300_000)}"}`,
    ];
    const withoutOwnField = ({ status, body }: { status: number; body: object }) => {
      const text = JSON.stringify({ status, ...body, request_id: "" });
      return text.replaceAll("bytes_base64", "file_url");
    };
    for (const raw of bodies) {
      const [refused, expected] = [await uploadRaw(raw), await parsed(raw)];
      t.equal(refused.status, 400);
      t.equal(withoutOwnField(refused), withoutOwnField(expected), String(raw).slice(0, 60));
    }
    t.match(await upload({ bytes_base64: 1 }), {
      status: 400,
      body: { details: [{ path: "/bytes_base64", message: "bytes_base64 must be a string" }] },
    });
  });

  t.test("the body is checked before the account", async (t) => {
    const foreign = { ad_account_id: "act_1" };
    t.match(await upload({ ...foreign, bytes_base64: "?" }), { body: { error: "invalid_image" } });
    t.match(await upload({ ...foreign, bytes_base64: TINY_IMAGES.png }), {
      status: 404,
      body: { error: "not_found" },
    });
    const other = await makeActiveAdvertiser(context);
    const disabled = await grantAdAccount(context.api, other, { status: "disabled" });
    const writes = (await receivedWrites(context)).length;
    t.match(
      await other.call("POST", "/images", {
        ad_account_id: disabled.adAccountId,
        bytes_base64: TINY_IMAGES.png,
      }),
      { status: 409, body: { error: "ad_account_not_active" } },
    );
    t.equal((await receivedWrites(context)).length, writes, "the platform is not called");
  });

  t.test("a file that is not an image is refused by the platform", async (t) => {
    t.match(await upload({ bytes_base64: Buffer.from("hello").toString("base64") }), {
      status: 400,
      body: { error: "platform_invalid_request", platform_error: { code: 100 } },
    });
  });

  t.test("a dead token revokes the account", async (t) => {
    const dead = await makeActiveAdvertiser(context, { account: DEAD_TOKEN_ACCOUNT_ID });
    const json = { ad_account_id: dead.adAccountId, bytes_base64: TINY_IMAGES.png };
    const revoked = { status: 409, body: { error: "ad_account_revoked" } };
    t.match(await dead.call("POST", "/images", json), revoked);
    t.match((await dead.call("GET", `/ad-accounts/${dead.accountId}`)).body, { status: "revoked" });
    t.match(await dead.call("POST", "/images", json), revoked);
  });

  t.test("a lost answer of the platform may be repeated", async (t) => {
    await context.arm({ kind: "drop_after", match: { path_prefix: `/v26.0/${ad_account_id}/adimages` } });
    t.match(await upload({ bytes_base64: TINY_IMAGES.gif }), {
      status: 502,
      body: { error: "platform_unavailable", retryable: true },
    });
    t.match(await upload({ bytes_base64: TINY_IMAGES.gif }), { status: 200 });
  });
});

t.test("an upload requires accepted terms before its body is read", async (t) => {
  const api = await startApi(t);
  const tenant = await makeTenant(api);
  const { headers } = await tenant.createKey(...SCOPES);
  t.match(await api.call("POST", "/api/marketing/images", { headers, raw: "no JSON" }), {
    status: 403,
    body: { error: "terms_not_accepted" },
  });
});

t.test("the size is the platform's, or else the one in the file", async (t) => {
  const platform = await startScriptedAdPlatform(t);
  const settings = { AD_PLATFORM_URL: platform.base };
  const api = await startApi(t, { settings, gates: { terms: async () => {} } });
  const tenant = await makeTenant(api);
  const { headers } = await tenant.createKey("marketing:manage");
  const { adAccountId: ad_account_id } = await grantAdAccount(api, tenant);
  const upload = async (bytes_base64: string, answer: object) => {
    platform.setAnswer("adimages", { images: { "any name": answer } });
    const json = { ad_account_id, bytes_base64 };
    return (await api.call("POST", "/api/marketing/images", { headers, json })).body;
  };
  t.same(await upload(TINY_IMAGES.webpLossy, { hash: "a" }), { hash: "a", width: 3, height: 2 });
  t.same(await upload(TINY_IMAGES.png, { hash: "a", width: 30, height: "20" }), {
    hash: "a",
    width: 30,
    height: 20,
  });
  t.same(await upload(Buffer.from("hello").toString("base64"), { hash: "a" }), { hash: "a" });
});
