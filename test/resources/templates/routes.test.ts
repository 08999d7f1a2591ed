import t from "tap";
import { DatabaseUnavailable } from "../../../src/store/database/faults.ts";
import { checkRequestIds } from "../../fixtures/captured-log.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import type { Fault, ReceivedCall } from "../../fixtures/platforms/platforms.ts";
import { readClientEvents } from "../../fixtures/platforms/webhooks.ts";
import { DEMO_CHAT_TOKEN, issueChatToken, OTHER_WABA_ID, WABA_ID } from "../../fixtures/sandbox/assets.ts";
import { bodyComponent, simpleTemplate } from "../../fixtures/sandbox/chat-templates.ts";
import {
  callSandbox,
  type RunningSandbox,
  SANDBOX_SETTINGS,
  startSandbox,
} from "../../fixtures/sandbox/sandbox.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { createTemplateClient, readCachedTemplates } from "../../fixtures/tenants/templates.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const ABSENT = "ch_01k9zv3m5q8x7w2r4t6y0a1b2c";

/** Starts the API and the sandbox, with the sandbox's webhooks subscribed to the API. */
async function startApiWithSandbox(
  t: Parameters<typeof startApi>[0],
  options: Parameters<typeof startApi>[1],
) {
  const sandbox = await startSandbox(t);
  const settings = { SANDBOX_PORT: new URL(sandbox.origin).port };
  const api = await startApi(t, { ...options, settings });
  const { PLATFORM_APP_ID: id, PLATFORM_APP_SECRET: secret, PLATFORM_VERIFY_TOKEN } = SANDBOX_SETTINGS;
  const form = {
    object: "whatsapp_business_account",
    callback_url: `${api.address}/platform/webhook`,
    fields: "message_template_status_update",
    verify_token: PLATFORM_VERIFY_TOKEN,
  };
  const subscription = { token: `${id}|${secret}`, proof: undefined, form };
  const { body } = await callSandbox(`${sandbox.base}/${id}/subscriptions`, subscription);
  if (!body.success) throw new Error(`the subscription failed: ${JSON.stringify(body)}`);
  return { sandbox, api };
}

const arm = (sandbox: RunningSandbox, fault: Fault) =>
  callSandbox(`${sandbox.origin}/_sandbox/faults`, { json: fault });

const takeReceivedCalls = async ({ origin }: RunningSandbox): Promise<ReceivedCall[]> =>
  (await callSandbox(`${origin}/_sandbox/requests?clear=true`)).body.data;

const statusOfChannel = async ({ db }: Api, id: string) =>
  (await db.query<{ status: string }>("select status from channels where id = $1", [id]))[0]?.status;

const namesIn = (rows: { name: string }[]) => rows.map(({ name }) => name);

t.test("templates", async (t) => {
  let [isCacheBroken, isAnswerLost] = [false, false];
  const { database } = watchStatements(async (text) => {
    if (isCacheBroken && /\btemplates\b/.test(text)) throw new Error("the template cache is broken");
    if (isAnswerLost && /\bupdate channels\b/.test(text))
      throw new DatabaseUnavailable(new Error("no answer"), true);
  });
  const { sandbox, api } = await startApiWithSandbox(t, { database });
  /** Creates a client with a channel of the business and a separate token. */
  const newClient = async (wabaId = WABA_ID, token = issueChatToken([wabaId])) => {
    const tenant = await makeTenant(api);
    const channelId = await makeChannel(api, tenant, { wabaId, token });
    return { tenant, channelId, ...(await createTemplateClient(api, tenant, channelId)) };
  };
  const statusEvents = async (clientId: string, hsmId: string) =>
    (await readClientEvents(api, clientId))
      .filter(({ type, payload }) => type === "template.status_updated" && payload.data.hsm_id === hsmId)
      .map(({ payload }) => payload);

  t.test("a template is submitted unchanged and returned with its id", async (t) => {
    const { tenant, submit } = await newClient();
    const template = simpleTemplate("order_update", {
      allow_category_change: true,
      something_new: { of: ["the platform's", 1.5, null] },
      components: [bodyComponent("Order {{1}} ships today.", ["A-1"])],
    });
    await takeReceivedCalls(sandbox);
    const { status, body } = await submit(template);
    t.equal(status, 200);
    const { id_external, ...rest } = body;
    t.same(rest, {
      externalCode: 200,
      status: "PENDING",
      platform_status: "PENDING",
      name: "order_update",
    });
    t.match(id_external, /^\d+$/);
    const calls = await takeReceivedCalls(sandbox);
    t.equal(calls.length, 1);
    t.same(calls[0]?.body, template);
    const [row] = await readCachedTemplates(api, tenant);
    t.match(row, { waba_id: WABA_ID, hsm_id: id_external, name: "order_update", language: "pt_BR" });
  });

  t.test("the result of a review is recorded as an event and cached", async (t) => {
    const { tenant, submit, list } = await newClient();
    for (const [name, first, last] of [
      ["hello_again", "PENDING", { status: "APPROVED", platform_status: "APPROVED", reason: "NONE" }],
      ["reject_me", "PENDING", { status: "REJECTED", platform_status: "REJECTED", reason: "INVALID_FORMAT" }],
      ["pause_me", "PENDING", { status: "REJECTED", platform_status: "PAUSED", reason: "NONE" }],
      ["instant_one", "APPROVED", { status: "APPROVED", platform_status: "APPROVED", reason: "NONE" }],
      ["recategorise_me", "PENDING", { status: "APPROVED", platform_status: "APPROVED", reason: "NONE" }],
    ] as const) {
      const { body } = await submit(simpleTemplate(name));
      t.equal(body.status, first, name);
      const { id_external: hsm_id } = body;
      const recorded = await until(`${name} has its final status`, async () =>
        (await statusEvents(tenant.id, hsm_id)).find(
          ({ data }) => data.platform_status === last.platform_status,
        ),
      );
      t.same(recorded.data, { hsm_id, name, language: "pt_BR", ...last });
      t.match(recorded.raw, { message_template_name: name });
      const readRow = async () =>
        (await readCachedTemplates(api, tenant)).find((cached) => cached.hsm_id === hsm_id);
      // Two webhooks within a second may arrive in any order.
      if (name !== "pause_me")
        await until(`${name} is cached with its final status`, async () => {
          const row = await readRow();
          return Object.entries(last).every(([field, value]) => row?.[field as keyof typeof last] === value);
        });
      const [listed] = (await list({ name })).body.data;
      const { reason: rejected_reason, ...expectedStatus } = last;
      t.match(listed, { hsm_id, ...expectedStatus, rejected_reason });
    }
    t.match((await list({ name: "recategorise_me" })).body.data, [{ category: "MARKETING" }]);
    const category = await until("the new category is recorded", async () =>
      (await readClientEvents(api, tenant.id)).find(({ type }) => type === "template.category_updated"),
    );
    t.match(category.payload.data, { name: "recategorise_me", before: "UTILITY", after: "MARKETING" });
    t.equal(
      (await readCachedTemplates(api, tenant)).find(({ name }) => name === "recategorise_me")?.category,
      "MARKETING",
    );
  });

  t.test("a platform refusal gets 200 with the platform's status and error", async (t) => {
    const { tenant, submit } = await newClient();
    await submit(simpleTemplate("taken_name"));
    const { status, body } = await submit(simpleTemplate("taken_name"));
    t.equal(status, 200);
    const { trace_id, ...error } = body.platform_error;
    t.match(trace_id, /./);
    const message =
      "There is already pt_BR content for this template. You can create a new template and try again.";
    const user_title = "Content in this language already exists";
    t.same(
      { ...body, platform_error: error },
      {
        externalCode: 400,
        message,
        platform_error: {
          code: 100,
          subcode: 2388024,
          type: "OAuthException",
          message: "Invalid parameter",
          user_title,
          user_message: message,
        },
      },
    );
    for (const [fault, externalCode] of [
      [{ kind: "error", code: 200 }, 403],
      [{ kind: "error", code: 2 }, 503],
      [{ kind: "error", code: 3 }, 500],
      // An error body with status 200 must not count as accepted.
      [{ kind: "error_in_200", code: 100 }, 400],
    ] as const) {
      await arm(sandbox, { ...fault, match: { method: "POST" } });
      const reply = await submit(simpleTemplate("never_taken"));
      t.equal(reply.status, 200);
      t.match(reply.body, { externalCode, message: /./, platform_error: { code: fault.code } });
      t.notOk("status" in reply.body || "id_external" in reply.body);
    }
    const cachedTemplates = namesIn(await readCachedTemplates(api, tenant));
    t.ok(
      cachedTemplates.includes("taken_name") && !cachedTemplates.includes("never_taken"),
      "a refused template is not cached",
    );
    t.notMatch(body, { platform_error: { message: /EAA/ } });
  });

  t.test("an unreadable or missing platform response is reported as such", async (t) => {
    const { submit, list, remove } = await newClient();
    for (const kind of ["html", "drop_before", "drop_after"]) {
      await arm(sandbox, { kind, match: { method: "POST" } });
      const create = await submit(simpleTemplate(`lost_by_${kind}`));
      t.equal(create.status, 504, kind);
      t.match(create.body, { error: "platform_timeout", retryable: false, message: /may exist/ });
      await arm(sandbox, { kind, match: { method: "DELETE" } });
      const removal = await remove("never_made");
      t.equal(removal.status, 502, kind);
      t.match(removal.body, { error: "platform_unavailable", retryable: true });
    }
    await arm(sandbox, { kind: "html", match: { method: "GET" } });
    t.equal((await list()).status, 200, "a read is retried");
  });

  t.test("a dead token disconnects the channel on every route", async (t) => {
    for (const [what, expected] of [
      ["submit", { status: 200, body: { externalCode: 401, message: /./, platform_error: { code: 190 } } }],
      ["list", { status: 409, body: { error: "channel_disconnected", platform_error: { code: 190 } } }],
      ["remove", { status: 200, body: { success: false, status_code: 401, message: /./ } }],
    ] as const) {
      const client = await newClient();
      const callRoute = () =>
        ({
          submit: () => client.submit(simpleTemplate("too_late")),
          list: () => client.list(),
          remove: () => client.remove("too_late"),
        })[what]();
      await arm(sandbox, { kind: "error", code: 190 });
      t.match(await callRoute(), expected, what);
      t.equal(await statusOfChannel(api, client.channelId), "needs_reauth");
      const recorded = (await readClientEvents(api, client.tenant.id)).filter(({ type }) =>
        type.startsWith("channel."),
      );
      t.match(recorded, [
        {
          type: "channel.disconnected",
          key: "chatapp",
          channel_id: client.channelId,
          payload: { data: { reason: "token_dead" } },
        },
      ]);
      const again = await callRoute();
      t.equal(again.status, 409, what);
      t.equal(again.body.error, "channel_disconnected");
    }
  });

  t.test(
    "a write without an answer is 503 on the list, which can be repeated, and 504 elsewhere",
    async (t) => {
      const { submit, list, remove } = await newClient();
      isAnswerLost = true;
      t.teardown(() => {
        isAnswerLost = false;
      });
      for (const [callRoute, expected] of [
        [list, { status: 503, body: { error: "temporarily_unavailable" } }],
        [() => submit(simpleTemplate("too_late")), { status: 504, body: { error: "outcome_unknown" } }],
        [() => remove("too_late"), { status: 504, body: { error: "outcome_unknown" } }],
      ] as const) {
        await arm(sandbox, { kind: "error", code: 190 });
        t.match(await callRoute(), expected);
      }
      isAnswerLost = false;
      t.equal((await list()).status, 200, "the repetition");
    },
  );

  t.test("only the client's own connected chatapp channels have templates", async (t) => {
    const { tenant, channelId } = await newClient();
    const setStatus = async (id: string, status: string) =>
      api.db.query("update channels set status = $2 where id = $1", [id, status]);
    const [photo, social, needsReauth, disconnected, disconnectedPhoto] = [
      await makeChannel(api, tenant, { platform: "photoapp" }),
      await makeChannel(api, tenant, { platform: "socialapp" }),
      await makeChannel(api, tenant),
      await makeChannel(api, tenant),
      await makeChannel(api, tenant, { platform: "photoapp" }),
    ];
    await setStatus(needsReauth, "needs_reauth");
    await setStatus(disconnected, "disconnected");
    await setStatus(disconnectedPhoto, "disconnected");
    const otherClient = await makeTenant(api);
    await takeReceivedCalls(sandbox);
    for (const [caller, id, status, error] of [
      [tenant, photo, 400, "validation_failed"],
      [tenant, social, 400, "validation_failed"],
      [tenant, disconnectedPhoto, 400, "validation_failed"],
      [tenant, needsReauth, 409, "channel_disconnected"],
      [tenant, disconnected, 409, "channel_disconnected"],
      [tenant, ABSENT, 404, "not_found"],
      [otherClient, channelId, 404, "not_found"],
      [otherClient, photo, 404, "not_found"],
    ] as const) {
      const templates = await createTemplateClient(api, caller, id);
      for (const reply of [
        await templates.submit(simpleTemplate("a_template")),
        await templates.list(),
        await templates.remove("a_template"),
      ]) {
        t.equal(reply.status, status);
        t.equal(reply.body.error, error);
        if (status === 400) t.equal(reply.body.details[0].path, "/channel_id");
      }
    }
    t.same(await takeReceivedCalls(sandbox), [], "the platform was not called");
  });

  t.test("invalid input gets an error that names the field, without calling the platform", async (t) => {
    const { submit, list, remove } = await newClient();
    const right = simpleTemplate("a_template");
    const { after } = (await list({ limit: 1 })).body.paging.cursors;
    await takeReceivedCalls(sandbox);
    const without = (field: string) => ({ ...right, [field]: undefined });
    const wrong: [
      string,
      Promise<{ status: number; body: { error: string; details: { path: string }[] } }>,
    ][] = [
      ["/template_data", submit(undefined)],
      ["/template_data", submit("a text")],
      ["/template_data", submit([right])],
      ["/template_data/name", submit(without("name"))],
      ["/template_data/name", submit({ ...right, name: 5 })],
      ["/template_data/language", submit(without("language"))],
      ["/template_data/language", submit({ ...right, language: { code: "pt_BR" } })],
      ["/template_data/category", submit(without("category"))],
      ["/template_data/category", submit({ ...right, category: null })],
      ["/template_data/components", submit(without("components"))],
      ["/template_data/components", submit({ ...right, components: {} })],
      ["/template_data/components/0", submit({ ...right, components: ["BODY"] })],
      ["/template_data/extra", submit({ ...right, extra: "\u0000" })],
      ["/name", submit(right, { name: "beside it" })],
      ["/channel_id", submit(right, { channel_id: undefined })],
      ["/channel_id", submit(right, { channel_id: "1" })],
      ["/channel_id", list({ channel_id: null })],
      ["/name", list({ name: "" })],
      ["/status", list({ status: "approved" })],
      ["/status", list({ status: "SOMEWHERE" })],
      ["/category", list({ category: 5 })],
      ["/language", list({ language: null })],
      ["/limit", list({ limit: 0 })],
      ["/limit", list({ limit: 101 })],
      ["/limit", list({ limit: "5" })],
      ["/after", list({ after: "x" })],
      ["/after", list({ after: `${after}x` })],
      ["/after", list({ after, language: "en_US" })],
      ["/before", list({ before: after })],
      ["/template_name", remove(undefined)],
      ["/template_name", remove("")],
      ["/template_name", remove("x".repeat(513))],
      ["/hsm_id", remove("a_template", { hsm_id: 5 })],
      ["/hsm_id", remove("a_template", { hsm_id: "../5" })],
      ["/hsm_ids", remove("a_template", { hsm_ids: ["5"] })],
    ];
    for (const [path, pendingReply] of wrong) {
      const { status, body } = await pendingReply;
      t.equal(status, 400, path);
      t.equal(body.error, "validation_failed", path);
      t.equal(body.details[0]?.path, path);
    }
    t.same(await takeReceivedCalls(sandbox), []);
  });

  t.test("a list has each translation and the namespace, which is cached", async (t) => {
    const { channelId, submit, list } = await newClient(OTHER_WABA_ID);
    for (const language of ["pt_BR", "en_US"]) await submit(simpleTemplate("instant_both", { language }));
    await takeReceivedCalls(sandbox);
    const { body } = await list({ name: "instant_both" });
    t.same(
      body.data.map(({ hsm_id, ...rest }: { hsm_id: string }) => rest),
      ["pt_BR", "en_US"].map((language) => ({
        name: "instant_both",
        language,
        category: "UTILITY",
        status: "APPROVED",
        platform_status: "APPROVED",
        rejected_reason: "NONE",
        quality_score: "UNKNOWN",
        components: [bodyComponent("Your order is on its way.")],
      })),
    );
    t.same(body.paging, { cursors: { before: null, after: null }, has_more: false });
    t.equal(body.namespace, "c1d1f1a2_0b7e_4f6a_9a53_7d2f5d1c9b02");
    t.equal((await takeReceivedCalls(sandbox)).length, 2, "one call for the list and one for the namespace");
    t.equal((await list()).body.namespace, body.namespace);
    t.equal((await takeReceivedCalls(sandbox)).length, 1, "the namespace is cached");
    const [row] = await api.db.query("select template_namespace from channels where id = $1", [channelId]);
    t.match(row, { template_namespace: body.namespace });
  });

  t.test("a list is filtered and read in pages or as a whole", async (t) => {
    const { tenant, submit, list } = await newClient(OTHER_WABA_ID);
    const otherClient = await newClient(OTHER_WABA_ID);
    const names = Array.from({ length: 9 }, (_, i) => `${i % 3 === 0 ? "reject_" : "instant_"}page_${i}`);
    for (const name of names)
      await submit(
        simpleTemplate(name, { category: "MARKETING", language: name.endsWith("7") ? "en_US" : "es" }),
      );
    const mine = { category: "MARKETING", language: "es" };
    await until("all reviews have ended", async () => {
      const { data } = (await list(mine)).body;
      return data.every(({ status }: { status: string }) => status !== "PENDING");
    });
    const inSpanish = names.filter((name) => !name.endsWith("7"));
    const isRejected = (name: string) => name.startsWith("reject_");
    t.same(namesIn((await list(mine)).body.data), inSpanish, "the platform's order is kept");

    const readListPages = async (filters: object, limit: number) => {
      const found: string[][] = [];
      for (let after: object = {}; ; ) {
        const { data, paging } = (await list({ ...filters, ...after, limit })).body;
        found.push(namesIn(data));
        t.same([paging.cursors.before, paging.has_more], [null, paging.cursors.after !== null]);
        if (!paging.has_more) return found;
        if (found.length > names.length) throw new Error("the list has too many pages");
        after = { after: paging.cursors.after };
      }
    };
    for (const [filters, expected, limits] of [
      [mine, inSpanish, [1, 2, 3, 100]],
      [{ ...mine, status: "REJECTED" }, inSpanish.filter(isRejected), [2, 3]],
      [{ ...mine, status: "APPROVED" }, inSpanish.filter((name) => !isRejected(name)), [2, 100]],
      [{ ...mine, status: "PAUSED" }, [], [1]],
      [{ language: "en_US", category: "MARKETING" }, ["instant_page_7"], [1]],
      [{ name: "instant_page_7" }, ["instant_page_7"], [1]],
      [{ name: "instant_page" }, [], [1]],
      [{ name: "reject_page_3", status: "APPROVED" }, [], [1]],
    ] as const)
      for (const limit of limits) {
        const found = await readListPages(filters, limit);
        t.same(found.flat(), expected, `${JSON.stringify(filters)} by ${limit}`);
        t.ok(found.every((page, index) => page.length === limit || index === found.length - 1));
      }

    const first = (await list({ ...mine, limit: 3 })).body.paging.cursors;
    const rest = (await list({ ...mine, after: first.after })).body;
    t.same(namesIn(rest.data), inSpanish.slice(3), "all following templates are returned without a limit");
    const otherChannel = await makeChannel(api, tenant, {
      wabaId: OTHER_WABA_ID,
      token: issueChatToken([OTHER_WABA_ID]),
    });
    for (const other of [
      { ...mine, after: first.after, channel_id: otherChannel },
      { after: first.after },
      { ...mine, after: first.after, status: "APPROVED" },
    ])
      t.equal((await list(other)).status, 400, "another list's cursor");
    t.equal((await otherClient.list({ ...mine, after: first.after })).status, 400, "another client's cursor");
  });

  t.test("a filter by Herald's status includes every platform status it stands for", async (t) => {
    const { submit, list } = await newClient();
    await submit(simpleTemplate("pause_for_filter"));
    const nameFilter = { name: "pause_for_filter" };
    await until(
      "the template is paused",
      async () => (await list({ ...nameFilter, status: "PAUSED" })).body.data.length === 1,
    );
    const [found] = (await list({ ...nameFilter, status: "REJECTED" })).body.data;
    t.match(found, { status: "REJECTED", platform_status: "PAUSED" });
    for (const status of ["APPROVED", "PENDING", "DISABLED"])
      t.same((await list({ ...nameFilter, status })).body.data, [], status);
  });

  t.test("a full list refreshes the cache and removes templates the platform no longer has", async (t) => {
    const { tenant, submit, list } = await newClient();
    const { id_external: shared } = (await (await newClient()).submit(simpleTemplate("instant_shared"))).body;
    const { id_external: mine } = (await submit(simpleTemplate("instant_mine"))).body;
    await until(
      "both templates have a status event",
      async () => (await statusEvents(tenant.id, mine)).concat(await statusEvents(tenant.id, shared))[1],
    );
    await api.db.query("delete from templates where client_id = $1 and hsm_id = $2", [tenant.id, shared]);
    await api.db.query(
      `update templates
      set status = 'PENDING', quality_score = 'RED', updated_at = now() - interval '1 hour'
      where client_id = $1
      and hsm_id = $2`,
      [tenant.id, mine],
    );
    const insertCached = (hsm_id: string, name: string, age: string) =>
      api.db.query(
        `insert into templates (client_id, waba_id, hsm_id, name, language, status, updated_at)
        values ($1, $2, $3, $4, 'pt_BR', 'APPROVED', now() - $5::interval)`,
        [tenant.id, WABA_ID, hsm_id, name, age],
      );
    await insertCached("41", "gone_long_ago", "1 hour");
    await insertCached("42", "told_just_now", "-1 hour"); // newer than the list, however long that takes
    await list({ limit: 1 });
    await list({ name: "instant_mine" });
    const some = namesIn(await readCachedTemplates(api, tenant));
    t.ok(["gone_long_ago", "told_just_now", "instant_mine"].every((name) => some.includes(name)));
    await list();
    const all = namesIn(await readCachedTemplates(api, tenant));
    t.notOk(all.includes("gone_long_ago"));
    t.ok(["told_just_now", "instant_mine", "instant_shared"].every((name) => all.includes(name)));
    const known = { category: "UTILITY", status: "APPROVED", reason: "NONE", quality_score: "UNKNOWN" };
    const rows = (await readCachedTemplates(api, tenant)).filter(({ hsm_id }) =>
      [mine, shared].includes(hsm_id),
    );
    t.match(rows, [known, known]);
  });

  t.test("a template is deleted by name, or a single translation by name and id", async (t) => {
    const { tenant, submit, remove, list } = await newClient();
    const ids: string[] = [];
    for (const language of ["pt_BR", "en_US", "es"])
      ids.push((await submit(simpleTemplate("reject_old", { language }))).body.id_external);
    ids.push((await submit(simpleTemplate("reject_other"))).body.id_external);
    for (const id of ids)
      await until(
        "the review has ended, so that no late webhook follows",
        async () => (await statusEvents(tenant.id, id))[0],
      );
    const done = { success: true, status_code: 200 };
    const one = await remove("reject_old", { hsm_id: ids[1] });
    t.equal(one.status, 200);
    t.same(one.body, done);
    const languages = async () =>
      (await list({ name: "reject_old" })).body.data.map(({ language }: { language: string }) => language);
    t.same(await languages(), ["pt_BR", "es"]);
    const cachedTemplates = async () =>
      (await readCachedTemplates(api, tenant)).map(({ name, language }) => `${name} ${language}`);
    const cachedRejects = async () => (await cachedTemplates()).filter((name) => name.startsWith("reject_o"));
    t.same(await cachedRejects(), ["reject_old es", "reject_old pt_BR", "reject_other pt_BR"]);
    t.same((await remove("reject_old")).body, done);
    t.same(await languages(), []);
    t.same(await cachedRejects(), ["reject_other pt_BR"]);
    const refused = await remove("reject_old");
    t.equal(refused.status, 200);
    t.same(refused.body, {
      success: false,
      status_code: 400,
      message: 'The template "reject_old" does not exist or has been deleted.',
    });
    const mismatch = await remove("reject_other", { hsm_id: "5" });
    t.match(mismatch.body, { success: false, status_code: 400 });
    t.same(await cachedRejects(), ["reject_other pt_BR"], "a refused deletion keeps the cached template");
  });

  t.test("a failing cache does not hide the platform's result", async (t) => {
    const { submit, list, remove, channelId } = await newClient();
    isCacheBroken = true;
    t.teardown(() => {
      isCacheBroken = false;
    });
    t.match((await submit(simpleTemplate("instant_unkept"))).body, { externalCode: 200, status: "APPROVED" });
    t.match((await list({ name: "instant_unkept" })).body.data, [{ status: "APPROVED" }]);
    t.same((await remove("instant_unkept")).body, { success: true, status_code: 200 });
    const lines = api.lines.filter(({ event }) => event === "template_cache.write_failed");
    t.match(lines, [{ channel: channelId }, {}, {}]);
  });

  t.test("a throttled business gets 429 without calling the platform", async (t) => {
    const { submit, list, remove } = await newClient();
    await arm(sandbox, { kind: "error", code: 80008 });
    const first = await submit(simpleTemplate("too_many"));
    t.match(first, { status: 200, body: { externalCode: 400, platform_error: { code: 80008 } } });
    await takeReceivedCalls(sandbox);
    for (const reply of [await submit(simpleTemplate("too_many")), await list(), await remove("too_many")]) {
      t.equal(reply.status, 429);
      t.match(reply.body, { error: "platform_rate_limited", retryable: true });
      t.match(reply.headers.get("retry-after"), /^[1-9]\d*$/);
    }
    t.same(await takeReceivedCalls(sandbox), []);
  });

  t.test("no token is logged or returned", async (t) => {
    const { submit } = await newClient(WABA_ID, `${DEMO_CHAT_TOKEN}Unknown`);
    const { text } = await submit(simpleTemplate("a_template"));
    t.notMatch(text, "EAA");
    t.notMatch(JSON.stringify(api.lines), "EAA");
    checkRequestIds(t, api.lines);
  });
});
