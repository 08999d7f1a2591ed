import t, { type Test } from "tap";
import { SCOPES } from "../../../../src/schema/enumerations.ts";
import { DatabaseUnavailable } from "../../../../src/store/database/faults.ts";
import { startApi } from "../../../fixtures/http/api.ts";
import { startScriptedAdPlatform } from "../../../fixtures/platforms/scripted-ad-platform.ts";
import { callSandbox } from "../../../fixtures/sandbox/sandbox.ts";
import { watchStatements } from "../../../fixtures/servers/statements.ts";
import { grantAdAccount } from "../../../fixtures/tenants/ad-accounts.ts";
import {
  COFFEE_ACCOUNT_ID,
  DEAD_TOKEN_ACCOUNT_ID,
  startAdsContext,
  WHOLESALE_ACCOUNT_ID,
} from "../../../fixtures/tenants/ad-grants.ts";
import {
  type ActiveAdvertiser,
  makeActiveAdvertiser,
  receivedWrites,
} from "../../../fixtures/tenants/ad-objects.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";
import { until } from "../../../fixtures/until.ts";

const FILM = { file_url: "https://shop.example/film.mp4" };
const NOT_FOUND = { status: 404, body: { error: "platform_object_not_found" } };

const register = ({ call, adAccountId }: ActiveAdvertiser, fields: object = FILM) =>
  call("POST", "/videos", { ad_account_id: adAccountId, ...fields });

t.test("videos", async (t) => {
  const context = await startAdsContext(t);
  const advertiser = await makeActiveAdvertiser(context);
  const readUntil = async (id: string, status: string) =>
    until(`the video is ${status}`, async () => {
      const { body } = await advertiser.read(`/videos/${id}`);
      return body.status === status && body;
    });

  t.test("a video is registered, and read until it is ready", async (t) => {
    const { status, body } = await register(advertiser, { ...FILM, name: "How we roast" });
    t.match({ status, body }, { status: 200, body: { id: /^\d+$/ } });
    t.same(Object.keys(body), ["id"]);
    t.match((await receivedWrites(context)).at(-1)?.body, { ...FILM, name: "How we roast" });
    t.same(await readUntil(body.id, "ready"), { id: body.id, status: "ready", progress: 100, errors: [] });
  });

  t.test("a video that cannot be processed ends in an error with its reason", async (t) => {
    const { body } = await register(advertiser, { file_url: "https://shop.example/broken.mp4" });
    t.match(await readUntil(body.id, "error"), {
      progress: 0,
      errors: [{ code: 1363008, message: /could not be read/ }],
    });
  });

  t.test("a URL that the platform cannot fetch is refused by the platform", async (t) => {
    t.match(await register(advertiser, { file_url: "https://unreachable.example/film.mp4" }), {
      status: 400,
      body: { error: "platform_invalid_request", platform_error: { code: 389 } },
    });
  });

  t.test("a video is found only by the client and the account that registered it", async (t) => {
    const both = [COFFEE_ACCOUNT_ID, WHOLESALE_ACCOUNT_ID];
    const owner = await makeActiveAdvertiser(context, { account: COFFEE_ACCOUNT_ID, reachable: both });
    const sameAccount = await makeActiveAdvertiser(context, { account: COFFEE_ACCOUNT_ID, reachable: both });
    const { adAccountId: secondAccount } = await grantAdAccount(context.api, owner);
    const { id } = (await register(owner)).body;
    t.match(await owner.read(`/videos/${id}`), { status: 200, body: { id } });
    await callSandbox(`${context.sandbox.origin}/_sandbox/requests?clear=true`);
    t.match(await sameAccount.read(`/videos/${id}`), NOT_FOUND, "another client with the same account");
    t.match(
      await owner.call("GET", `/videos/${id}?ad_account_id=${secondAccount}`),
      NOT_FOUND,
      "another account of the client",
    );
    t.match(await owner.read("/videos/42"), NOT_FOUND, "an id that was never registered");
    t.match(await owner.read("/videos/120210000000000101"), NOT_FOUND, "the id of another kind of object");
    const { body } = await callSandbox(`${context.sandbox.origin}/_sandbox/requests`);
    t.same(body.data, [], "the platform is not called");
  });

  t.test("bad input is refused with a message in words", async (t) => {
    const url = "file_url must be an http or https URL of at most 2048 characters";
    const refusals: readonly (readonly [fields: object, message: string])[] = [
      [{}, "file_url is required"],
      [{ file_url: 1 }, "file_url must be a string"],
      [{ file_url: "" }, url],
      [{ file_url: "ftp://shop.example/film.mp4" }, url],
      [{ file_url: "shop.example/film.mp4" }, url],
      [{ file_url: "https://" }, url],
      [{ file_url: `https://shop.example/${"x".repeat(2_028)}` }, url],
      [{ ...FILM, name: "" }, "name must not be empty"],
      [{ ...FILM, title: "x" }, "title is not a known field"],
    ];
    for (const [fields, message] of refusals)
      t.match(
        await register(advertiser, fields),
        { status: 400, body: { error: "validation_failed", message } },
        JSON.stringify(fields).slice(0, 80),
      );
    t.match(await register(advertiser, { file_url: `https://shop.example/${"x".repeat(2_027)}` }), {
      status: 200,
    });
    t.match(await advertiser.read("/videos/abc"), { status: 400, body: { error: "validation_failed" } });
    t.match(await advertiser.call("GET", "/videos/1"), { status: 400 });
  });

  t.test("a dead token revokes the account", async (t) => {
    const dead = await makeActiveAdvertiser(context, { account: DEAD_TOKEN_ACCOUNT_ID });
    const revoked = { status: 409, body: { error: "ad_account_revoked" } };
    t.match(await register(dead), revoked);
    t.match(await dead.read("/videos/1"), revoked);
  });

  t.test("a registration without an answer is not repeatable", async (t) => {
    await context.arm({ kind: "drop_after" });
    t.match(await register(advertiser), {
      status: 504,
      body: { error: "platform_timeout", retryable: false },
    });
  });
});

t.test("a registration requires accepted terms, reading does not", async (t) => {
  const api = await startApi(t);
  const { headers } = await (await makeTenant(api)).createKey(...SCOPES);
  t.match(await api.call("POST", "/api/marketing/videos", { headers, json: FILM }), {
    status: 403,
    body: { error: "terms_not_accepted" },
  });
  t.match(await api.call("GET", "/api/marketing/videos/1?ad_account_id=act_1", { headers }), {
    status: 404,
    body: { error: "not_found" },
  });
});

/** The API with an ad platform whose answers the test sets; `options` are those of startApi. */
async function startScripted(t: Test, options: object = {}) {
  const platform = await startScriptedAdPlatform(t);
  platform.setAnswer("advideos", { id: "77" });
  const settings = { AD_PLATFORM_URL: platform.base };
  const api = await startApi(t, { settings, gates: { terms: async () => {} }, ...options });
  const tenant = await makeTenant(api);
  const { headers } = await tenant.createKey("marketing:manage", "marketing:read");
  const { adAccountId: ad_account_id } = await grantAdAccount(api, tenant);
  return {
    platform,
    register: () => api.call("POST", "/api/marketing/videos", { headers, json: { ad_account_id, ...FILM } }),
    read: () => api.call("GET", `/api/marketing/videos/77?ad_account_id=${ad_account_id}`, { headers }),
  };
}

t.test("unexpected answers of the platform give a valid status", async (t) => {
  const { platform, register, read } = await startScripted(t);
  t.equal((await register()).status, 200);
  t.equal((await register()).status, 200, "the platform may return a known id again");
  const statuses: readonly (readonly [answer: object, expected: object])[] = [
    [{ status: { video_status: "ready" } }, { status: "ready", progress: 100, errors: [] }],
    [{ status: { video_status: "uploading" } }, { status: "processing", progress: 0, errors: [] }],
    [{ status: "?" }, { status: "processing", progress: 0, errors: [] }],
    [{}, { status: "processing", progress: 0, errors: [] }],
    [
      { status: { video_status: "processing", processing_progress: "250" } },
      { status: "processing", progress: 100, errors: [] },
    ],
    [
      {
        status: { video_status: "processing", processing_progress: 33.4, processing_phase: { errors: "?" } },
      },
      { status: "processing", progress: 33, errors: [] },
    ],
    [
      {
        status: {
          video_status: "error",
          uploading_phase: { errors: [{ code: "1", message: "Too short" }] },
          processing_phase: { errors: [{}, null] },
        },
      },
      {
        status: "error",
        progress: 0,
        errors: [
          { code: 1, message: "Too short" },
          { message: "No reason was given" },
          { message: "No reason was given" },
        ],
      },
    ],
  ];
  for (const [answer, expected] of statuses) {
    platform.setAnswer("77", answer);
    t.same((await read()).body, { id: "77", ...expected }, JSON.stringify(answer));
  }
  platform.setAnswer("77", 803);
  t.match(await read(), NOT_FOUND, "the video is gone at the platform");
});

t.test("a video that cannot be recorded is 504 with its id, because it exists", async (t) => {
  for (const mayHaveWritten of [true, false]) {
    const { database } = watchStatements(async (text) => {
      if (text.includes("into ad_videos")) throw new DatabaseUnavailable(new Error("away"), mayHaveWritten);
    });
    const { register, read } = await startScripted(t, { database });
    t.match(await register(), {
      status: 504,
      body: { error: "platform_timeout", retryable: false, message: /registered the video as 77/ },
    });
    t.match(await read(), NOT_FOUND);
  }
});
