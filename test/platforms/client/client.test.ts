import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import t from "tap";
import {
  createPlatformClient,
  nextRetryDelay,
  type RecordCall,
} from "../../../src/platforms/client/client.ts";
import { createTransport } from "../../../src/platforms/client/transport.ts";
import { createPauses } from "../../../src/queue/platform-pauses.ts";
import { listen } from "../../../src/runtime/http/listen.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { startBackend } from "../../fixtures/events/backends.ts";
import { failedAs } from "../../fixtures/platforms/failures.ts";
import {
  connectPlatforms,
  DEMO_AD_ACCESS,
  DEMO_CHAT_NUMBER,
  sendNow,
  startPlatforms,
} from "../../fixtures/platforms/platforms.ts";
import { SANDBOX_SETTINGS } from "../../fixtures/sandbox/sandbox.ts";
import { connectRedis } from "../../fixtures/servers/redis.ts";
import { allocateRedisDatabase } from "../../fixtures/servers/servers.ts";

const APP = { id: SANDBOX_SETTINGS.PLATFORM_APP_ID, secret: SANDBOX_SETTINGS.PLATFORM_APP_SECRET };
const CAMPAIGN = { name: "Dropped", objective: "OUTCOME_TRAFFIC" };

/** A client for calls with arbitrary parameters. */
async function createTestClient(t: Test, address: string) {
  const { log, lines } = captureLog();
  const transport = createTransport();
  t.teardown(() => transport.close());
  const parts = { app: APP, transport, pauses: createPauses(await connectRedis(t)), log };
  return { client: createPlatformClient({ name: "ads", address, ...parts }), lines };
}

t.test("the token is sent in its header with its proof and is never logged", async (t) => {
  const context = await startPlatforms(t);
  await context.platforms.ads.accounts.read({ ...DEMO_AD_ACCESS, about: { client: "c1" } });
  const [call] = await context.receivedCalls();
  t.equal(call?.headers.authorization, `Bearer ${DEMO_AD_ACCESS.token}`);
  t.equal(
    call?.query.appsecret_proof,
    createHmac("sha256", APP.secret).update(DEMO_AD_ACCESS.token).digest("hex"),
  );
  t.notOk(call?.query.access_token);
  const line = context.lines.find(({ event }) => event === "platform.called");
  t.match(line, {
    client: "c1",
    ad_account: DEMO_AD_ACCESS.account,
    platform: "ads",
    method: "GET",
    path: `/${DEMO_AD_ACCESS.account}`,
    outcome: "done",
    status: 200,
    tries: 1,
    usage_app: Number,
    usage_account: Number,
    usage_business: Number,
    ms: Number,
  });
  t.notMatch(JSON.stringify(context.lines), DEMO_AD_ACCESS.token);
  t.notMatch(JSON.stringify(context.lines), /appsecret_proof|fields=|sandbox-app-secret/);
});

t.test("calls reuse one connection", async (t) => {
  let connections = 0;
  const server = createServer((_, response) => response.end('{"id":"act_1","account_id":"1"}'));
  server.on("connection", () => {
    connections += 1;
  });
  server.keepAliveTimeout = 60_000; // a slow machine must not find the connection closed
  await listen(server, 0, "127.0.0.1");
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const { client } = await createTestClient(t, `http://127.0.0.1:${port}`);
  for (let i = 0; i < 5; i += 1)
    await client.callOrThrow({ effect: "read", method: "GET", path: "/act_1", token: "x" });
  t.equal(connections, 1);
});

t.test("a failed read is retried at most twice", async (t) => {
  const tryKind = async (kind: string) => {
    const context = await startPlatforms(t);
    const read = () => context.platforms.ads.accounts.read(DEMO_AD_ACCESS);
    await context.arm({ kind, times: 2 });
    t.match(await read(), { ad_account_id: DEMO_AD_ACCESS.account }, kind);
    t.equal(context.lines.at(-1)?.tries, 3);
    await context.arm({ kind, times: 3 });
    await t.rejects(
      read(),
      failedAs(kind === "html" ? "unusable_answer" : "disconnected", { retryable: true }),
    );
    t.equal((await context.receivedCalls()).length, 6, "no further attempts");
  };
  await Promise.all(["drop_before", "drop_after", "html"].map(tryKind));
});

t.test("a create is never retried once it may have been sent", async (t) => {
  for (const kind of ["drop_before", "drop_after", "html", "error"]) {
    const context = await startPlatforms(t);
    await context.arm({ kind, times: 3 });
    await t.rejects(
      context.platforms.ads.objects.create(DEMO_AD_ACCESS, "campaigns", { fields: CAMPAIGN }),
      failedAs("ambiguous", { retryable: false, message: /may exist/ }),
    );
    t.equal((await context.receivedCalls()).filter(({ method }) => method === "POST").length, 1, kind);
  }
});

t.test("a create whose response was dropped has taken effect", async (t) => {
  const context = await startPlatforms(t);
  const names = async () =>
    (await context.platforms.ads.objects.list(DEMO_AD_ACCESS, "campaigns")).items.map(({ name }) => name);
  await context.arm({ kind: "drop_before" });
  await t.rejects(
    context.platforms.ads.objects.create(DEMO_AD_ACCESS, "campaigns", {
      fields: { ...CAMPAIGN, name: "Never" },
    }),
  );
  await context.arm({ kind: "drop_after" });
  await t.rejects(
    context.platforms.ads.objects.create(DEMO_AD_ACCESS, "campaigns", {
      fields: { ...CAMPAIGN, name: "Once" },
    }),
  );
  t.same(await names(), ["Once"]);
});

t.test("each call is recorded once with its outcome, however often it was tried", async (t) => {
  const calls: Parameters<RecordCall>[0][] = [];
  const context = await startPlatforms(t);
  const { ads, chat } = await context.connectAnother({ recordCall: (call) => void calls.push(call) });
  const outcomesOf = async (work: () => Promise<unknown>) => {
    calls.length = 0;
    await work().catch(() => {});
    return calls.map(({ platform, outcomes }) => [platform, ...outcomes]);
  };
  const read = () => ads.accounts.read(DEMO_AD_ACCESS);
  t.same(await outcomesOf(read), [["ads", "done"]]);
  t.ok((calls[0]?.ms as number) >= 0);
  await context.arm({ kind: "drop_before", times: 2 });
  t.same(await outcomesOf(read), [["ads", "done"]], "two of the tries failed");
  t.same(await outcomesOf(() => ads.objects.read(DEMO_AD_ACCESS, "campaigns", "1")), [["ads", "missing"]]);
  t.same(await outcomesOf(() => chat.media.download(DEMO_CHAT_NUMBER, "1")), [["chat", "missing"]]);
});

t.test("a call to an unreachable platform counts as not sent", async (t) => {
  const { log, lines } = captureLog();
  const unreachable = "http://127.0.0.1:1/v26.0";
  const nowhere = "http://no-such-host.invalid/v26.0";
  for (const address of [unreachable, nowhere]) {
    const settings = {
      AD_PLATFORM_URL: address,
      CHAT_PLATFORM_URL: address,
      REDIS_URL: await allocateRedisDatabase(),
    };
    const { ads, chat } = await connectPlatforms(t, settings, { log });
    const failure = failedAs("unreachable", { retryable: true });
    await t.rejects(ads.objects.create(DEMO_AD_ACCESS, "campaigns", { fields: CAMPAIGN }), failure);
    t.match(lines.at(-1), { outcome: "broken", sent: false, reason: /^E[A-Z_]+$/, tries: 1 });
    const message = { id: "msg_1", to: "5511999990001", type: "text", content: { body: "Hi" } };
    t.match(
      await sendNow(chat.messages.prepare(DEMO_CHAT_NUMBER, message)),
      { outcome: "retry" },
      "the send may be retried",
    );
  }
});

t.test("a call without a response ends at the deadline", async (t) => {
  const context = await startPlatforms(t);
  const { client, lines } = await createTestClient(t, context.base);
  const path = `/${DEMO_AD_ACCESS.account}`;
  const call = { path, token: DEMO_AD_ACCESS.token } as const;
  const read = { ...call, effect: "read", method: "GET" } as const;
  // Opens the connections: a slow machine could need the whole deadline for them, and the calls would not be sent.
  await Promise.all([1, 2, 3].map(() => client.callOrThrow(read)));
  await context.arm({ kind: "delay", ms: 600_000, times: 3 });
  const deadline = 2_000;
  const create = { ...call, path: `${path}/campaigns`, effect: "create", method: "POST", deadline } as const;
  await Promise.all([
    t.rejects(client.callOrThrow({ ...read, deadline }), failedAs("timeout", { retryable: true })),
    t.rejects(
      client.callOrThrow({ ...call, effect: "change", method: "POST", deadline }),
      failedAs("timeout", { retryable: false }),
    ),
    t.rejects(client.callOrThrow(create), failedAs("ambiguous", { retryable: false })),
  ]);
  t.match(
    lines.findLast(({ method }) => method === "GET"),
    { outcome: "timeout", sent: true, tries: 1 },
  );
});

t.test("a streamed body may exceed the deadline, the response to it may not", async (t) => {
  const { url } = await startBackend(t, (request, response) => {
    request.resume();
    request.on("end", () => request.url === "/answered" && response.end("{}"));
  });
  const transport = createTransport();
  t.teardown(transport.close);
  /** Sends a byte at a time for this long. */
  async function* bodyOf(durationMs: number) {
    const endsAt = performance.now() + durationMs;
    do {
      yield Buffer.from("x");
      if (durationMs > 0) await sleep(100);
    } while (performance.now() < endsAt);
  }
  const post = (path: string, durationMs: number, limits: { deadline: number; uploadTimeoutMs?: number }) =>
    transport.run({
      method: "POST",
      url: new URL(path, url),
      headers: {},
      body: Readable.from(bodyOf(durationMs), { objectMode: false }),
      ...limits,
    });
  // Opens the connections, so that only the bodies and the responses take time.
  const patient = { deadline: 60_000, uploadTimeoutMs: 60_000 };
  await Promise.all([1, 2, 3, 4].map(() => post("/answered", 0, patient)));
  const deadline = 4_000;
  const [long, silent, unlimited, limited] = await Promise.all([
    post("/answered", deadline + 200, { deadline, uploadTimeoutMs: 60_000 }),
    post("/silent", 0, { deadline: 1_000, uploadTimeoutMs: 60_000 }),
    post("/answered", 60_000, { deadline: 1_000 }),
    post("/answered", 60_000, { deadline: 2_000, uploadTimeoutMs: 1 }),
  ]);
  t.match(long, { outcome: "answered", text: "{}" });
  t.match(silent, { outcome: "timeout", sent: true, reason: "response" });
  t.match(unlimited, { outcome: "timeout", reason: "request" });
  t.match(limited, { outcome: "timeout", reason: "request" });
});

t.test("retries stay within the call's deadline", async (t) => {
  const context = await startPlatforms(t);
  const { client, lines } = await createTestClient(t, context.base);
  await context.arm({ kind: "html", times: 3 });
  const call = {
    path: `/${DEMO_AD_ACCESS.account}`,
    token: DEMO_AD_ACCESS.token,
    effect: "read",
    method: "GET",
  } as const;
  // On a slow machine the first answer is too late as well.
  await t.rejects(client.callOrThrow({ ...call, deadline: 150 }), { name: "PlatformFailure" });
  t.equal(lines.at(-1)?.tries, 1, "the delay before the second attempt exceeds the remaining time");
  const answer = { outcome: "unreadable", status: 502 } as const;
  t.equal(nextRetryDelay(call, answer, { tries: 1, remaining: 150 }), undefined);
  t.ok(nextRetryDelay(call, answer, { tries: 1, remaining: 1_000 }));
});

t.test("an id with characters that would change the path fails as missing", async (t) => {
  const context = await startPlatforms(t);
  const ids = [
    "../me",
    "1?fields=id",
    "1#",
    "1/2/3",
    "",
    "%2e%2e",
    "1500000000000201/message_templates/x",
    "a b",
  ];
  for (const id of ids)
    await t.rejects(context.platforms.chat.media.download(DEMO_CHAT_NUMBER, id), failedAs("missing"), id);
  t.same(await context.receivedCalls(), [], "no request was sent");
});
