import t from "tap";
import {
  createEmbedStates,
  createSignedStates,
  createSigner,
} from "../../../src/security/signatures-and-states.ts";
import { channelsOf, ENDED_TRY, startSignupContext, storedTryOf } from "../../fixtures/embed/signup.ts";
import { readClientEvents } from "../../fixtures/platforms/webhooks.ts";
import { OTHER_WABA_ID, WABA_ID } from "../../fixtures/sandbox/assets.ts";

t.test("the tries of an embedded signup", async (t) => {
  const context = await startSignupContext(t);
  const { api, makeHost } = context;

  t.test("the dialog's URL has the parameters of its platform", async (t) => {
    const host = await makeHost();
    const prefill = { business: { name: "Café & Söhne" }, phone: { displayName: "Café" } };
    const page = await host.open({ prefill });
    const dialogOf = async (platform: string) => {
      const { status, body } = await page.post("tries", { platform });
      t.equal(status, 201);
      const url = new URL(body.url);
      t.equal(url.origin + url.pathname, api.config.SIGNUP_DIALOG_URL);
      const { state, ...params } = Object.fromEntries(url.searchParams);
      return { state, params, tryId: body.try_id };
    };
    const common = {
      client_id: api.config.PLATFORM_APP_ID,
      response_type: "code",
      redirect_uri: `${api.config.PUBLIC_URL}/embed/callback`,
    };
    const chat = await dialogOf("chatapp");
    t.same(chat.params, {
      ...common,
      config_id: api.config.SIGNUP_CONFIG_ID,
      override_default_response_type: "true",
      extras: JSON.stringify({ setup: prefill }),
    });
    t.match(await page.state(), {
      status: "opened",
      try: { try_id: chat.tryId, platform: "chatapp", phase: "dialog" },
    });
    for (const platform of ["photoapp", "socialapp"]) {
      const { params } = await dialogOf(platform);
      const scope =
        "pages_show_list,pages_messaging,pages_manage_metadata,instagram_basic,instagram_manage_messages";
      t.same(params, { ...common, scope });
    }
    const plain = await (await host.open()).post("tries", { platform: "chatapp" });
    t.equal(new URL(plain.body.url).searchParams.get("extras"), '{"setup":{}}');
    const single = await host.open({ platforms: ["photoapp"] });
    t.match(await single.post("tries", { platform: "chatapp" }), {
      status: 400,
      body: { details: [{ path: "/platform", message: "platform must be one of photoapp" }] },
    });
  });

  t.test("a declined dialog and a cancelled choice leave the session opened", async (t) => {
    const host = await makeHost();
    const page = await host.open();
    const declined = await page.decide("chatapp", { action: "cancel" });
    t.same((await page.report(declined)).body, { status: "opened" });
    t.equal((await page.report(declined)).status, 400, "the state is used");
    t.match(await page.state(), { status: "opened", try: null });
    await page.grant("chatapp", OTHER_WABA_ID);
    t.match((await page.post("cancel")).body, { status: "opened", try: null });
    t.same(await storedTryOf(context, page), ENDED_TRY);
    t.match((await page.post("cancel")).body, { try: null }, "there is nothing to cancel");
    const { state = "" } = await page.decide("chatapp", { assets: [WABA_ID] });
    t.match((await page.post("cancel")).body, { try: null });
    t.equal((await page.report({ state, code: "AQ" })).status, 400, "the cancelled try is over");
    t.same(await readClientEvents(api, host.id), []);

    const { state: other = "" } = await page.decide("chatapp", { assets: [WABA_ID] });
    t.same((await page.report({ state: other, error: "server_error", error_description: "<b>" })).body, {
      status: "failed",
    });
    t.match(await page.read(), { error: { code: "platform_invalid_request", step: "exchange" } });
  });

  t.test("a state works once, for its own try, for ten minutes, and cannot be forged", async (t) => {
    const host = await makeHost();
    const [page, other] = [await host.open(), await host.open()];
    const replaced = await page.decide("chatapp", { assets: [WABA_ID] });
    const returned = await page.decide("chatapp", { assets: [WABA_ID] });
    const [session, tryId, ...signed] = (returned.state as string).split(".");
    const { body: otherTry } = await other.post("tries", { platform: "chatapp" });
    const states = createEmbedStates(
      createSignedStates(createSigner(api.config.ENCRYPTION_KEYS, "embed-state")),
    );
    const oauth = createEmbedStates(
      createSignedStates(createSigner(api.config.ENCRYPTION_KEYS, "oauth-state")),
    );
    const own = { sessionId: page.id, tryId: tryId as string };
    const unusable: [string, string][] = [
      ["of a replaced try", replaced.state as string],
      ["of another session", [other.id, tryId, ...signed].join(".")],
      ["of another try", [session, otherTry.try_id, ...signed].join(".")],
      ["without a try", signed.join(".")],
      ["invented", "state"],
      ["with another signature", `${returned.state}x`],
      ["expired", states.issue(own, -1)],
      ["signed for another purpose", oauth.issue(own, 60_000)],
    ];
    for (const [name, state] of unusable)
      for (const rest of [{ code: returned.code as string }, { error: "access_denied" }])
        t.match(
          await page.report({ ...rest, state }),
          { status: 400, body: { error: "validation_failed", details: [{ path: "/state" }] } },
          name,
        );
    for (const json of [{ state: "s" }, { state: "s", code: "c", error: "e" }, { code: "c" }])
      t.equal((await page.report(json as Record<string, string>)).status, 400);
    t.same((await page.report(returned)).body, { status: "completed" });
    t.equal((await page.report(returned)).status, 400);
  });

  t.test("a session that has ended answers 410 to everything but the state", async (t) => {
    const host = await makeHost();
    const page = await host.open();
    const returned = await page.decide("chatapp", { assets: [WABA_ID] });
    await host.call("POST", `/api/embed/sessions/${page.id}/revoke`);
    t.match(await page.state(), { status: "revoked", try: null });
    for (const [name, json] of [
      ["loaded", {}],
      ["tries", { platform: "chatapp" }],
      ["choice", { asset_id: "1" }],
      ["pin", { pin: "135790" }],
      ["cancel", {}],
    ] as const)
      t.match(await page.post(name, json), { status: 410, body: { error: "session_gone" } }, name);
    t.match(await page.report(returned), { status: 410, body: { message: "This link was revoked" } });
    t.same(await channelsOf(context, host), []);
    const unknown = await api.call("GET", `/embed/${"a".repeat(43)}/state`);
    t.match(unknown, { status: 404, body: { error: "not_found" } });
  });

  t.test("a link serves 50 tries, and a large body is refused", async (t) => {
    const host = await makeHost();
    const page = await host.open();
    await api.db.query("update embed_sessions set tries = 49 where id = $1", [page.id]);
    t.equal((await page.post("tries", { platform: "chatapp" })).status, 201);
    t.match(await page.post("tries", { platform: "chatapp" }), {
      status: 409,
      body: { error: "invalid_state_transition", message: /50 tries/ },
    });
    const raw = JSON.stringify({ state: "s", code: "c".repeat(17_000) });
    t.equal((await api.call("POST", "/embed/callback", { raw })).status, 413);
    t.equal((await page.report({ state: "s", code: "c".repeat(5_000) })).status, 400);
  });
});
