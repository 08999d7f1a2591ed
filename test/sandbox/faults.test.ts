import type { Test } from "tap";
import t from "tap";
import { extendToken } from "../fixtures/sandbox/dialogs.ts";
import {
  callSandbox,
  type RunningSandbox,
  SANDBOX_SETTINGS,
  type SandboxAnswer,
  startSandbox,
} from "../fixtures/sandbox/sandbox.ts";
import { until } from "../fixtures/until.ts";

const APP = SANDBOX_SETTINGS.PLATFORM_APP_ID;
const APP_TOKEN = `${APP}|${SANDBOX_SETTINGS.PLATFORM_APP_SECRET}`;

const arm = ({ origin }: RunningSandbox, fault: object): Promise<SandboxAnswer> =>
  callSandbox(`${origin}/_sandbox/faults`, { json: fault });

const readApp = ({ base }: RunningSandbox): Promise<SandboxAnswer> =>
  callSandbox(`${base}/${APP}`, { token: APP_TOKEN });

/** Returns the last request to the platforms. */
const lastRequest = async ({ origin }: RunningSandbox) =>
  (await callSandbox(`${origin}/_sandbox/requests`)).body.data[0];

const usageOf = (answer: SandboxAnswer, header: string) => JSON.parse(answer.headers.get(header) ?? "null");

t.test("an error fault applies as many times as requested", async (t) => {
  const sandbox = await startSandbox(t);
  t.equal((await arm(sandbox, { kind: "error", code: 100, subcode: 1885621, times: 2 })).status, 201);
  for (const remaining of [1, undefined]) {
    const { status, body } = await readApp(sandbox);
    t.equal(status, 400);
    t.match(body.error, { code: 100, error_subcode: 1885621, is_transient: false, fbtrace_id: /^A/ });
    t.match(body.error, { error_user_title: /./, error_user_msg: /./, type: "OAuthException" });
    const { data } = (await callSandbox(`${sandbox.origin}/_sandbox/faults`)).body;
    t.equal(data[0]?.times, remaining);
  }
  t.match(await readApp(sandbox), { status: 200, body: { id: APP } });
});

t.test("a fault for a whole path spares the edges of the node", async (t) => {
  const sandbox = await startSandbox(t);
  for (const path of [`/${APP}`, `/v26.0/${APP}`]) {
    await arm(sandbox, { kind: "error", code: 100, match: { path } });
    const edge = await callSandbox(`${sandbox.base}/${APP}/subscriptions`, { token: APP_TOKEN });
    t.not(edge.body.error?.code, 100);
    t.match(await readApp(sandbox), { status: 400, body: { error: { code: 100 } } });
    t.equal((await readApp(sandbox)).status, 200);
  }
  t.equal((await arm(sandbox, { kind: "error", match: { path: "/_sandbox/inbox" } })).status, 400);
  t.equal((await arm(sandbox, { kind: "error", match: { path: "me" } })).status, 400);
});

t.test("every code has its HTTP status", async (t) => {
  const sandbox = await startSandbox(t);
  const statuses: Record<number, number> = {
    1: 400,
    2: 503,
    3: 500,
    4: 400,
    10: 403,
    190: 401,
    200: 403,
    294: 403,
    300: 400,
    368: 403,
    131000: 500,
    131026: 400,
    132001: 404,
    133004: 503,
  };
  for (const [code, status] of Object.entries(statuses)) {
    await arm(sandbox, { kind: "error", code: Number(code) });
    const answer = await readApp(sandbox);
    t.equal(answer.status, status, `code ${code}`);
    t.equal(answer.body.error.code, Number(code));
    t.equal(answer.body.error.is_transient, code === "2");
  }
});

t.test("error_data is an object or its JSON text", async (t) => {
  const sandbox = await startSandbox(t);
  const dataFor = async (code: number, subcode?: number) => {
    await arm(sandbox, { kind: "error", code, subcode });
    return (await readApp(sandbox)).body.error.error_data;
  };
  t.match(await dataFor(131026), { messaging_product: "whatsapp", details: /./ });
  t.match(await dataFor(100, 1885622), { blame_field_specs: [[/./]] });
  t.match(JSON.parse(await dataFor(100, 1885621)), { blame_field_specs: [[/./]] });
  t.equal(await dataFor(100), undefined);
});

t.test("error_in_200 has status 200, and html is a gateway's error page", async (t) => {
  const sandbox = await startSandbox(t);
  await arm(sandbox, { kind: "error_in_200" });
  t.match(await readApp(sandbox), { status: 200, body: { error: { code: 2, is_transient: true } } });
  await arm(sandbox, { kind: "html" });
  const gateway = await readApp(sandbox);
  t.equal(gateway.status, 502);
  t.match(gateway.headers.get("content-type"), /text\/html/);
  t.match(gateway.body, /<h1>502/);
});

t.test("a throttled caller receives the waiting time", async (t) => {
  const sandbox = await startSandbox(t);
  await arm(sandbox, { kind: "throttle", ms: 90_000 });
  const app = await readApp(sandbox);
  t.match(app, { status: 400, body: { error: { code: 4 } } });
  t.equal(usageOf(app, "x-app-usage").call_count, 100);
  await arm(sandbox, { kind: "throttle", code: 80007 });
  t.match((await readApp(sandbox)).body.error, { code: 80007 });
  t.match(await lastRequest(sandbox), { fault: "throttle", acted: false, status: 400 });
});

t.test("a delayed answer is late and correct", async (t) => {
  const sandbox = await startSandbox(t);
  await arm(sandbox, { kind: "delay", ms: 300 });
  const began = Date.now();
  t.match(await readApp(sandbox), { status: 200, body: { id: APP } });
  t.ok(Date.now() - began >= 295);
});

t.test("the sandbox closes while an answer is delayed", async (t) => {
  let pendingAnswer: Promise<SandboxAnswer> | undefined;
  await t.test("while it runs", async (t) => {
    const sandbox = await startSandbox(t);
    await arm(sandbox, { kind: "delay", ms: 600_000 });
    pendingAnswer = readApp(sandbox);
    await until("the request arrived", () => lastRequest(sandbox));
  });
  t.equal((await pendingAnswer)?.status, 200);
});

t.test("a dropped call is recorded with its fault, and as not executed for drop_before", async (t) => {
  const sandbox = await startSandbox(t);
  for (const [kind, acted] of [
    ["drop_before", false],
    ["drop_after", undefined],
  ] as const) {
    await arm(sandbox, { kind });
    await t.rejects(readApp(sandbox), /fetch failed/);
    const { fault, acted: recordedActed, status } = await lastRequest(sandbox);
    t.same([fault, recordedActed, status], [kind, acted, undefined]);
  }
  t.equal((await readApp(sandbox)).status, 200);
});

t.test("a dead token stays dead until the faults are cleared", async (t) => {
  const sandbox = await startSandbox(t);
  const readAppWith = (token: string) => callSandbox(`${sandbox.base}/${APP}`, { token });
  const before = await readAppWith("EAASandboxDemoAds");
  t.equal(before.body.error.code, 104, "valid, but not the app's token");
  await arm(sandbox, { kind: "dead_token", subcode: 463 });
  for (let count = 0; count < 2; count++)
    t.match(await readAppWith("EAASandboxDemoAds"), {
      status: 401,
      body: { error: { code: 190, error_subcode: 463 } },
    });
  t.same((await readAppWith("EAASandboxDemoChat")).body.error.code, 104, "another token stays valid");
  t.match(await callSandbox(`${sandbox.origin}/_sandbox/faults`, { method: "DELETE" }), { status: 200 });
  t.equal((await readAppWith("EAASandboxDemoAds")).body.error.code, 104);
});

t.test("a token can become dead while it is exchanged", async (t) => {
  const sandbox = await startSandbox(t);
  await arm(sandbox, { kind: "dead_token" });
  t.match(await extendToken(sandbox, "EAASandboxDemoAds"), {
    status: 401,
    body: { error: { code: 190, error_subcode: 460 } },
  });
});

t.test("dead_token waits for a call with a revocable token", async (t) => {
  const sandbox = await startSandbox(t);
  await arm(sandbox, { kind: "dead_token" });
  t.equal((await callSandbox(`${sandbox.base}/${APP}`)).body.error.code, 104);
  t.match((await callSandbox(`${sandbox.base}/${APP}`, { token: "unheard of" })).body.error, { code: 190 });
  t.equal((await readApp(sandbox)).status, 200);
  t.match((await callSandbox(`${sandbox.base}/${APP}`, { token: "EAASandboxDemoAds" })).body.error, {
    code: 190,
    error_subcode: 460,
  });
});

t.test("a fault matches by method and path, with or without the version", async (t) => {
  const matchesFault = async (t: Test, match: object, path = `/v26.0/${APP}`, method = "GET") => {
    const sandbox = await startSandbox(t);
    await arm(sandbox, { kind: "html", match });
    return (await callSandbox(`${sandbox.origin}${path}`, { method })).status === 502;
  };
  t.ok(await matchesFault(t, {}));
  t.ok(await matchesFault(t, { path_prefix: `/${APP}` }));
  t.ok(await matchesFault(t, { path_prefix: `/v26.0/${APP}` }));
  t.ok(await matchesFault(t, { path_prefix: "/19" }));
  t.notOk(await matchesFault(t, { path_prefix: "/act_1" }));
  t.ok(await matchesFault(t, { method: "DELETE" }, "/v26.0/1", "DELETE"));
  t.notOk(await matchesFault(t, { method: "POST" }));
  t.notOk(await matchesFault(t, {}, "/"), "a page fails only when the path names it");
  t.ok(await matchesFault(t, { path_prefix: "/" }, "/"));
  t.notOk(await matchesFault(t, {}, "/_sandbox/inbox", "POST"));
  t.notOk(await matchesFault(t, { path_prefix: "/" }, "/_sandbox/inbox", "POST"));
  t.ok(await matchesFault(t, { path_prefix: "/_sandbox/inbox/a" }, "/_sandbox/inbox/a/b", "POST"));
});

t.test("faults apply in the order of arming", async (t) => {
  const sandbox = await startSandbox(t);
  await arm(sandbox, { kind: "error", code: 1 });
  await arm(sandbox, { kind: "error", code: 17 });
  const codes = [await readApp(sandbox), await readApp(sandbox)].map(({ body }) => body.error.code);
  t.same(codes, [1, 17]);
});

t.test("the inbox can fail by status, by delay or by a dropped connection", async (t) => {
  const sandbox = await startSandbox(t);
  const inbox = `${sandbox.origin}/_sandbox/inbox`;
  const match = { path_prefix: "/_sandbox/inbox" };
  const post = () => callSandbox(`${inbox}/orders`, { json: { a: 1 } });
  await arm(sandbox, { kind: "error", match, code: 410 });
  t.equal((await post()).status, 410);
  await arm(sandbox, { kind: "error", match });
  t.equal((await post()).status, 500);
  await arm(sandbox, { kind: "drop_before", match });
  await t.rejects(post(), /fetch failed/);
  await arm(sandbox, { kind: "delay", match, ms: 10 });
  t.match(await post(), { status: 200, body: { received: true } });
  const { data } = (await callSandbox(inbox)).body;
  t.match(data, [
    { fault: "delay", status: 200 },
    { fault: "drop_before" },
    { status: 500 },
    { status: 410 },
  ]);
});

t.test("an invalid fault is refused with the name of its field", async (t) => {
  const sandbox = await startSandbox(t);
  const inbox = { path_prefix: "/_sandbox/inbox" };
  const wrong: [fault: unknown, message: RegExp][] = [
    [{}, /kind is required/],
    [{ kind: "explode" }, /kind must be one of error, /],
    [{ kind: "error", times: 0 }, /times must be at least 1/],
    [{ kind: "error", code: "100" }, /code must be an integer/],
    [{ kind: "delay", ms: -1 }, /ms must be at least 0/],
    [{ kind: "error", matches: {} }, /matches is not a known field/],
    [{ kind: "error", match: { method: "PATCH" } }, /match.method must be one of/],
    [{ kind: "error", match: { path_prefix: "act_1" } }, /match.path_prefix must begin with a slash/],
    [{ kind: "error", match: { path_prefix: "/_sandbox/faults" } }, /only \/_sandbox\/inbox can have faults/],
    [{ kind: "error", match: inbox, code: 190 }, /code must be an HTTP status/],
    [{ kind: "dead_token", match: inbox }, /kind must be one of error, html, delay/],
    [{ kind: "dead_token", subcode: 1 }, /subcode must be one of 458, /],
    [[], /the body must be an object/],
  ];
  for (const [fault, message] of wrong) {
    const { status, body } = await arm(sandbox, fault as object);
    t.equal(status, 400);
    t.match(body.error, { message, details: [{ message }] });
  }
  const malformed = await callSandbox(`${sandbox.origin}/_sandbox/faults`, { body: "{", method: "POST" });
  t.match(malformed, { status: 400, body: { error: { message: /^The body is not valid JSON/ } } });
  t.same((await callSandbox(`${sandbox.origin}/_sandbox/faults`)).body, { data: [] });
});
