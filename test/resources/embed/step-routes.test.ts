import t from "tap";
import { DEMO_ASSETS } from "../../../src/schema/demo-assets.ts";
import { openChannelToken } from "../../../src/security/sealed-tokens.ts";
import { createSecretBox } from "../../../src/security/secret-box.ts";
import {
  channelsOf,
  ENDED_TRY,
  type SignupPage,
  startSignupContext,
  storedTryOf,
} from "../../fixtures/embed/signup.ts";
import { readClientEvents } from "../../fixtures/platforms/webhooks.ts";
import {
  INSTAGRAM_ID,
  OTHER_WABA_ID,
  PAGE_ID,
  PHONE_NUMBER_ID,
  PIN_NUMBER_ID,
  PLAIN_NUMBER_ID,
  UNVERIFIED_NUMBER_ID,
  WABA_ID,
} from "../../fixtures/sandbox/assets.ts";
import { debugToken } from "../../fixtures/sandbox/dialogs.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { until } from "../../fixtures/until.ts";

const PIN = "135790"; // of PIN_NUMBER_ID in the sandbox
const OTHER_PAGE_ID = "1300000000000402";
const PAGE_WITHOUT_PHOTO_ID = "1300000000000403";

t.test("connecting a channel through an embedded signup", async (t) => {
  const context = await startSignupContext(t);
  const { api, sandbox, makeHost } = context;
  const eventsOf = async ({ id }: { id: string }) =>
    (await readClientEvents(api, id)).map(({ type, payload }) => ({ type, payload }));

  t.test("the log names the session and the request of a signup, and never its token", async (t) => {
    const page = await (await makeHost()).open();
    await page.post("loaded");
    const reply = await page.grant("chatapp", WABA_ID);
    const request_id = reply.headers.get("x-request-id");
    const line = await until("the request is logged", () =>
      api.lines.find((one) => one.event === "http.request" && one.request_id === request_id),
    );
    t.match(line, { session_id: page.id, route: "/embed/callback" });
    const calls = api.lines.filter((one) => one.event === "platform.called" && one.request_id === request_id);
    t.ok(calls.length > 2);
    for (const call of calls) t.match(call, { session_id: page.id, client: String });
    const ofSession = api.lines.filter(
      ({ event, session_id }) => event === "http.request" && session_id === page.id,
    );
    t.match(
      ofSession.map(({ route }) => route),
      ["/embed/{token}/loaded", "/embed/{token}/tries", "/embed/callback"],
    );
    t.notMatch(JSON.stringify(api.lines), page.token);
  });

  t.test("a number is connected, and session, event and page show the same result", async (t) => {
    const host = await makeHost();
    const page = await host.open({ external_ref: "store-42" });
    t.match(await page.state(), {
      session_id: page.id,
      status: "pending",
      external_ref: "store-42",
      try: null,
    });
    t.equal((await page.post("loaded")).status, 204);
    const { opened_at } = await page.read();
    t.equal((await page.post("loaded")).status, 204, "a reload changes nothing");
    t.match(await page.read(), { status: "opened", opened_at });

    const before = (await context.requests()).length;
    t.same((await page.grant("chatapp", WABA_ID)).body, { status: "completed" });
    const session = await page.read();
    t.match(session, { status: "completed", opened_at, completed_at: String, error: null });
    const [channel] = await channelsOf(context, host);
    const { result } = session;
    t.same(result, {
      channel: {
        channel_id: channel?.id,
        platform: "chatapp",
        status: "connected",
        display_name: DEMO_ASSETS.name,
        waba_id: WABA_ID,
        phone_number_id: PHONE_NUMBER_ID,
        display_phone_number: DEMO_ASSETS.displayPhoneNumber,
        template_namespace: DEMO_ASSETS.templateNamespace,
        external_ref: "store-42",
        connected_at: result.channel.connected_at,
      },
      waba_id: WABA_ID,
      phone_number_id: PHONE_NUMBER_ID,
      template_namespace: DEMO_ASSETS.templateNamespace,
      external_ref: "store-42",
    });
    t.match(await eventsOf(host), [
      {
        type: "channel.connected",
        payload: {
          key: "embedded_signup",
          channel_id: channel?.id,
          external_ref: "store-42",
          data: { session_id: page.id, result },
        },
      },
    ]);
    t.match(await page.state(), { status: "completed", try: null, result });
    t.same(await storedTryOf(context, page), ENDED_TRY);
    const calls = (await context.requests())
      .slice(before)
      .map(({ method, path }) => `${method} ${path.replace("/v26.0", "")}`);
    t.same(calls, [
      "POST /dialog/signup",
      "GET /oauth/access_token",
      "GET /debug_token",
      `GET /${WABA_ID}/phone_numbers`,
      `POST /${WABA_ID}/subscribed_apps`,
      `POST /${PHONE_NUMBER_ID}/register`,
      `GET /${WABA_ID}`,
    ]);
    t.match((await host.call("GET", `/api/channels/${channel?.id}`)).body, result.channel);
    const owner = await host.createUser("owner");
    const audit = await api.call("GET", "/api/audit?action=channel.connected", owner);
    t.match(audit.body.data, [{ actor: { type: "service" }, target: channel?.id, address: String }]);
  });

  t.test("a page and a photo account are connected with a token that does not expire", async (t) => {
    const host = await makeHost();
    for (const [platform, ids] of [
      ["socialapp", { page_id: PAGE_ID }],
      ["photoapp", { page_id: PAGE_ID, photoapp_user_id: INSTAGRAM_ID }],
    ] as const) {
      const page = await host.open();
      t.same((await page.grant(platform, PAGE_ID)).body, { status: "completed" });
      const { result } = await page.read();
      t.match(result.channel, { platform, status: "connected", display_name: "Sandbox Coffee", ...ids });
      t.match(result, { waba_id: null, phone_number_id: null, template_namespace: null, external_ref: null });
    }
    const channels = await channelsOf(context, host);
    t.equal(channels.length, 2);
    const box = createSecretBox(api.config.ENCRYPTION_KEYS);
    for (const { id, token_sealed } of channels) {
      const token = openChannelToken(box, id, token_sealed as string);
      t.match((await debugToken(sandbox, token)).body.data, { is_valid: true, type: "PAGE", expires_at: 0 });
    }
  });

  t.test("the client's own channel is updated in place", async (t) => {
    const host = await makeHost();
    const number = { phoneNumberId: PHONE_NUMBER_ID, wabaId: WABA_ID };
    const former = await makeHost();
    const taken = await makeChannel(api, former, { ...number, takeOver: true });
    const id = await makeChannel(api, host, { ...number, externalRef: "old", takeOver: true });
    t.match(await eventsOf(former), [{ type: "channel.disconnected", payload: { channel_id: taken } }]);
    const page = await host.open({ external_ref: "new" });
    await page.grant("chatapp", WABA_ID);
    t.match((await page.read()).result, { channel: { channel_id: id, external_ref: "new" } });
    t.equal((await channelsOf(context, host)).length, 1);
    const unnamed = await host.open();
    await unnamed.grant("chatapp", WABA_ID);
    const { result } = await unnamed.read();
    t.match(result, { channel: { channel_id: id, external_ref: "new" }, external_ref: null });
  });

  t.test(
    "with several numbers the person chooses, and the grant is stored encrypted meanwhile",
    async (t) => {
      const host = await makeHost();
      const page = await host.open();
      const notYet = await page.post("choice", { asset_id: PLAIN_NUMBER_ID });
      t.match(notYet, { status: 409, body: { error: "invalid_state_transition" } });
      t.same((await page.grant("chatapp", WABA_ID, OTHER_WABA_ID)).body, { status: "opened" });
      const state = await page.state();
      t.match(state, { status: "opened", try: { platform: "chatapp", phase: "choosing" } });
      t.same(
        state.choices.map(({ asset_id }: { asset_id: string }) => asset_id),
        [PHONE_NUMBER_ID, PLAIN_NUMBER_ID, PIN_NUMBER_ID, UNVERIFIED_NUMBER_ID],
      );
      t.same(state.choices[1], { asset_id: PLAIN_NUMBER_ID, name: "Sandbox Tea", detail: "+1 555-010-0302" });
      const waiting = await storedTryOf(context, page);
      t.match(waiting, { grant_sealed: /^\w+\.[\w-]+$/, try_lease: null }, "the grant is encrypted");
      t.notMatch(waiting?.choices, /EAA/, "the choices have no token");
      const refused = await page.post("choice", { asset_id: "1" });
      t.match(refused, { status: 400, body: { details: [{ path: "/asset_id" }] } });
      t.equal((await page.post("choice", { asset_id: "x" })).status, 400);
      t.equal((await page.post("pin", { pin: PIN })).status, 409);
      const chosen = await page.post("choice", { asset_id: PLAIN_NUMBER_ID });
      t.match(chosen, {
        status: 200,
        body: {
          status: "completed",
          try: null,
          result: { phone_number_id: PLAIN_NUMBER_ID, waba_id: OTHER_WABA_ID },
        },
      });
      t.same(await storedTryOf(context, page), ENDED_TRY);

      const pages = await host.open();
      await pages.grant("photoapp", PAGE_ID, OTHER_PAGE_ID, PAGE_WITHOUT_PHOTO_ID);
      t.same((await pages.state()).choices, [
        { asset_id: INSTAGRAM_ID, name: "Sandbox Coffee", detail: "@sandbox.coffee" },
        { asset_id: "1200000000000502", name: "Sandbox Tea", detail: "@sandbox.tea" },
      ]);
      const photo = await pages.post("choice", { asset_id: "1200000000000502" });
      t.match(photo.body, {
        result: { channel: { page_id: OTHER_PAGE_ID, photoapp_user_id: "1200000000000502" } },
      });
    },
  );

  t.test("a number with a PIN asks for it three times, and its PIN serves every later signup", async (t) => {
    const host = await makeHost();
    const page = await host.open();
    const choosePin = async (of: SignupPage) => {
      await of.grant("chatapp", OTHER_WABA_ID);
      return of.post("choice", { asset_id: PIN_NUMBER_ID });
    };
    const number = { asset_id: PIN_NUMBER_ID, name: "Sandbox Tea Support", detail: "+1 555-010-0303" };
    const asked = (await choosePin(page)).body;
    t.match(asked, { try: { phase: "pin" }, pin: { tries_left: 3 } });
    t.same(asked.pin.number, number, "the page names the number");
    t.equal(asked.choices, undefined);
    await api.db.query("update embed_sessions set choices = null where id = $1", [page.id]);
    t.same((await page.state()).pin, { tries_left: 3 }, "a try that waits since before an upgrade");
    t.equal((await page.post("pin", { pin: "12345" })).status, 400);
    for (const tries_left of [2, 1])
      t.match((await page.post("pin", { pin: "000000" })).body, {
        status: "opened",
        pin: { tries_left, number },
      });
    t.match((await page.post("pin", { pin: "000000" })).body, {
      status: "failed",
      try: null,
      error: { code: "pin_rejected", step: "register" },
    });
    t.same(await channelsOf(context, host), []);
    t.same(await storedTryOf(context, page), ENDED_TRY);
    t.same(await api.db.query("select id from number_pins where id = $1", [PIN_NUMBER_ID]), []);

    t.match((await choosePin(page)).body, {
      status: "opened",
      try: { phase: "pin" },
      pin: { tries_left: 3 },
    });
    t.match((await page.post("pin", { pin: PIN })).body, { status: "completed" });
    const [stored] = await api.db.query<{ pin_sealed: string }>("select * from number_pins where id = $1", [
      PIN_NUMBER_ID,
    ]);
    t.match(stored, { client_id: host.id });
    t.notMatch(stored?.pin_sealed, PIN);
    t.notMatch(JSON.stringify(api.lines), PIN);

    const next = await makeHost();
    const taking = await next.open();
    t.match((await choosePin(taking)).body, { status: "completed" }, "the stored PIN is used");
    const [former] = await channelsOf(context, host);
    t.match(former, { status: "disconnected", token_sealed: null });
    t.match((await eventsOf(host)).at(-1), {
      type: "channel.disconnected",
      payload: { channel_id: former?.id, data: { reason: "taken_over" } },
    });
    t.match(await api.db.query("select client_id from number_pins where id = $1", [PIN_NUMBER_ID]), [
      { client_id: next.id },
    ]);
  });
});
