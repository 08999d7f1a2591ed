import t from "tap";
import { channelsOf, type SignupPage, startSignupContext } from "../../fixtures/embed/signup.ts";
import type { Fault } from "../../fixtures/platforms/platforms.ts";
import { readClientEvents } from "../../fixtures/platforms/webhooks.ts";
import {
  OTHER_WABA_ID,
  PAGE_ID,
  PHONE_NUMBER_ID,
  UNVERIFIED_NUMBER_ID,
  WABA_ID,
} from "../../fixtures/sandbox/assets.ts";

const PAGE_WITHOUT_PHOTO_ID = "1300000000000403";

interface FailingStep {
  step: string;
  platform?: string;
  fault: Fault;
  code: string;
}

const fault = (path: string, code: number, method = "GET"): Fault => ({
  kind: "error",
  code,
  match: { method, path },
});

const FAILING_STEPS: readonly FailingStep[] = [
  { step: "exchange", fault: fault("/oauth/access_token", 100), code: "platform_invalid_request" },
  { step: "grant", fault: fault("/debug_token", 10), code: "platform_permission_denied" },
  { step: "read", fault: fault(`/${WABA_ID}/phone_numbers`, 200), code: "platform_permission_denied" },
  { step: "subscribe", fault: fault(`/${WABA_ID}/subscribed_apps`, 2, "POST"), code: "platform_unavailable" },
  {
    step: "register",
    fault: fault(`/${PHONE_NUMBER_ID}/register`, 133016, "POST"),
    code: "platform_invalid_request",
  },
  { step: "namespace", fault: fault(`/${WABA_ID}`, 100), code: "platform_invalid_request" },
  { step: "read", platform: "socialapp", fault: fault("/me/accounts", 368), code: "platform_policy_blocked" },
  {
    step: "subscribe",
    platform: "socialapp",
    fault: fault(`/${PAGE_ID}/subscribed_apps`, 190, "POST"),
    code: "platform_permission_denied",
  },
];

t.test("failed steps of an embedded signup", async (t) => {
  const { api, arm, clearFaults, makeHost } = await startSignupContext(t);
  const complete = (page: SignupPage, platform: string) =>
    page.grant(platform, platform === "chatapp" ? WABA_ID : PAGE_ID);

  for (const { step, platform = "chatapp", fault, code } of FAILING_STEPS)
    t.test(`a failed ${step} of ${platform} leaves no channel, and a second try succeeds`, async (t) => {
      const host = await makeHost();
      const page = await host.open({ external_ref: "r" });
      await arm(fault);
      t.same((await complete(page, platform)).body, { status: "failed" });
      await clearFaults();
      const { status, error, result } = await page.read();
      t.match(
        { status, error, result },
        { status: "failed", error: { code, step, message: /./ }, result: null },
      );
      t.match(await page.state(), { status: "failed", try: null, error, failed_platform: platform });
      await api.db.query("update embed_sessions set try_platform = null where id = $1", [page.id]);
      t.notOk("failed_platform" in (await page.state()), "a try that failed before an upgrade");
      t.same(await channelsOf({ api }, host), []);
      const [event, ...more] = await readClientEvents(api, host.id);
      t.same(more, []);
      t.match(event?.payload, {
        type: "embed_session.failed",
        key: "embedded_signup",
        external_ref: "r",
        data: { session_id: page.id, ...error },
      });
      t.same((await complete(page, platform)).body, { status: "completed" });
      t.match(await page.read(), { status: "completed", error: null, result: { external_ref: "r" } });
      t.equal((await channelsOf({ api }, host)).length, 1);
    });

  t.test("a failed store leaves no channel and reveals nothing, and a second try succeeds", async (t) => {
    const host = await makeHost();
    const page = await host.open();
    await api.db.query(`
      create function refuse_channel() returns trigger language plpgsql as
      $$ begin raise exception 'refused by the test'; end $$`);
    await api.db.query(
      "create trigger refuse before insert on channels for each row execute function refuse_channel()",
    );
    t.match(await complete(page, "socialapp"), { status: 500, body: { error: "internal_error" } });
    await api.db.query("drop trigger refuse on channels");
    t.match(await page.read(), {
      status: "failed",
      error: { code: "internal_error", step: "store", message: "An internal error occurred" },
    });
    t.same((await complete(page, "socialapp")).body, { status: "completed" });
    t.equal((await channelsOf({ api }, host)).length, 1);
  });

  t.test("missing permissions and assets fail with a reason", async (t) => {
    const host = await makeHost();
    const grant = async (platform: string, choices: object) => {
      const page = await host.open();
      await page.report(await page.decide(platform, choices));
      return (await page.read()).error;
    };
    const permissions = ["pages_show_list", "pages_manage_metadata", "instagram_basic"];
    t.same(await grant("socialapp", { permissions, assets: [PAGE_ID] }), {
      code: "missing_permission",
      message: "The permission pages_messaging was not granted",
      step: "grant",
    });
    t.match(await grant("photoapp", { permissions, assets: [PAGE_ID] }), {
      message: "The permissions pages_messaging, instagram_manage_messages were not granted",
    });
    t.match(await grant("photoapp", { assets: [PAGE_WITHOUT_PHOTO_ID] }), {
      code: "platform_object_not_found",
      step: "read",
    });
  });

  t.test("a number that is not verified fails to register with the platform's reason", async (t) => {
    const host = await makeHost();
    const page = await host.open();
    await page.grant("chatapp", OTHER_WABA_ID);
    const { body } = await page.post("choice", { asset_id: UNVERIFIED_NUMBER_ID });
    t.match(body, { status: "failed", try: null, error: { step: "register", message: /verification/ } });
    t.same(await channelsOf({ api }, host), []);
  });

  t.test("a registration without an answer keeps its PIN for the next try", async (t) => {
    const host = await makeHost();
    const page = await host.open();
    const match = { method: "POST", path: "/1400000000000302/register" };
    await arm({ kind: "drop_after", match });
    await page.grant("chatapp", OTHER_WABA_ID);
    const first = await page.post("choice", { asset_id: "1400000000000302" });
    t.match(first.body, { status: "failed", error: { step: "register", code: "platform_unavailable" } });
    await page.grant("chatapp", OTHER_WABA_ID);
    const second = await page.post("choice", { asset_id: "1400000000000302" });
    t.match(second.body, { status: "completed" }, "the number has the PIN of the first try");
  });
});
