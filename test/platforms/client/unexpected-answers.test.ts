import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Readable } from "node:stream";
import t, { type Test } from "tap";
import type { Platforms } from "../../../src/platforms/platforms.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import { listen } from "../../../src/runtime/http/listen.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { failedAs } from "../../fixtures/platforms/failures.ts";
import {
  connectPlatforms,
  DEMO_AD_ACCESS,
  DEMO_CHAT_NUMBER,
  DEMO_PAGE_ACCESS,
  sendNow,
} from "../../fixtures/platforms/platforms.ts";
import { allocateRedisDatabase } from "../../fixtures/servers/servers.ts";

type Answer = (response: ServerResponse) => void;

/** A platform whose responses the test sets; counts the requests. */
async function startFakePlatform(t: Test, answer: Answer) {
  const fake = { answer, requestCount: 0 };
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      fake.requestCount += 1;
      fake.answer(response);
    });
  });
  await listen(server, 0, "127.0.0.1");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v26.0`;
  const names = ["AD_PLATFORM_URL", "CHAT_PLATFORM_URL", "PHOTO_PLATFORM_URL", "SOCIAL_PLATFORM_URL"];
  const settings = {
    ...Object.fromEntries(names.map((name) => [name, address])),
    REDIS_URL: await allocateRedisDatabase(),
  };
  const { log, lines } = captureLog();
  return { fake, lines, platforms: await connectPlatforms(t, settings, { log }) };
}

const jsonAnswer =
  (body: string, status = 200): Answer =>
  (response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(body);

/** Bodies that do not confirm success, sent with status 200. */
const UNCONFIRMED_ANSWERS = [
  "",
  "null",
  "[]",
  "5",
  '"Service Unavailable"',
  "Service Unavailable",
  '{"error":{"message":"Service Unavailable"}}',
  '{"error":"no"}',
];

const MESSAGE = { id: "msg_1", to: "5511999990001", type: "text", content: { body: "Hi" } };
const PAGE_MESSAGE = { recipient: { id: "7001" }, message: { text: "Hi" } };

const send = ({ chat }: Platforms) => sendNow(chat.messages.prepare(DEMO_CHAT_NUMBER, MESSAGE));

t.test("a message without the platform's confirmation is not accepted", async (t) => {
  const { fake, platforms } = await startFakePlatform(t, jsonAnswer(""));
  for (const body of [...UNCONFIRMED_ANSWERS, "{}", '{"messages":null}', '{"messages":[{}]}']) {
    fake.answer = jsonAnswer(body);
    t.match(await send(platforms), { outcome: "unknown", statusCode: 200 }, `chat: ${body}`);
    t.match(
      await sendNow(platforms.photo.messages.prepare(DEMO_PAGE_ACCESS, PAGE_MESSAGE)),
      { outcome: "unknown", statusCode: 200 },
      `photo: ${body}`,
    );
  }
  fake.answer = jsonAnswer('{"recipient_id":"7001"}');
  const reaction = await sendNow(platforms.social.messages.prepare(DEMO_PAGE_ACCESS, PAGE_MESSAGE));
  t.match(reaction, { outcome: "accepted", platformMessageId: undefined });
});

/** A JSON object whose field exceeds one limit of an answer; `rest` is the text of its other fields. */
const excessiveAnswers = (rest: string): Record<string, string> => ({
  bytes: `{${rest},"x":"${"x".repeat(8 * 1_048_576)}"}`,
  levels: `{${rest},"x":${"[".repeat(100)}${"]".repeat(100)}}`,
  values: `{${rest},"x":[${"0,".repeat(500_000)}0]}`,
  digits: `{${rest},"x":${"7".repeat(41)}}`,
});

t.test("an answer beyond the limits counts as one that is not JSON", async (t) => {
  const { fake, platforms } = await startFakePlatform(t, jsonAnswer(""));
  const { ads, chat, social } = platforms;
  const upload = () =>
    chat.media.upload(DEMO_CHAT_NUMBER, {
      filename: "a",
      type: "text/plain",
      content: Readable.from([Buffer.alloc(1)]),
      size: 1,
    });
  const rest = '"id":"1","messages":[{"id":"m"}],"data":[],"message_id":"m"';
  const unknown = { outcome: "unknown", reason: "unreadable", statusCode: 200 };
  for (const [what, body] of Object.entries(excessiveAnswers(rest))) {
    fake.answer = jsonAnswer(body);
    t.same(await send(platforms), unknown, `chat send: ${what}`);
    t.same(
      await sendNow(social.messages.prepare(DEMO_PAGE_ACCESS, PAGE_MESSAGE)),
      unknown,
      `page send: ${what}`,
    );
    await t.rejects(ads.accounts.subscribe(DEMO_AD_ACCESS), failedAs("unusable_answer"), `change: ${what}`);
    await t.rejects(
      ads.objects.create(DEMO_AD_ACCESS, "campaigns", { fields: { name: "x" } }),
      failedAs("ambiguous"),
      `create: ${what}`,
    );
    await t.rejects(upload(), { name: "PlatformFailure", retryable: true }, `upload: ${what}`);
  }
  for (const [what, body] of Object.entries(excessiveAnswers('"error":{"code":190}'))) {
    fake.answer = jsonAnswer(body, 400);
    t.same(await send(platforms), { ...unknown, statusCode: 400 }, `error: ${what}`);
  }
});

t.test("reads beyond the limits are unusable, whether single, listed or in a batch", async (t) => {
  const { levels } = excessiveAnswers('"id":"1","account_id":"1","data":[]');
  const { fake, platforms } = await startFakePlatform(t, jsonAnswer(levels as string));
  const { ads, social } = platforms;
  const reads: Promise<unknown>[] = [
    ads.tokens.permissions("t"),
    ads.insights.rows(DEMO_AD_ACCESS, {}),
    social.pages.readLead(DEMO_PAGE_ACCESS, "1"),
  ];
  await Promise.all(reads.map((read) => t.rejects(read, failedAs("unusable_answer"))));
  fake.answer = jsonAnswer(JSON.stringify([1, 2].map(() => ({ code: 200, headers: [], body: levels }))));
  t.match(await ads.insights.readReports(DEMO_AD_ACCESS, ["1", "2"]), [
    { verdict: "unusable_answer" },
    { verdict: "unusable_answer" },
  ]);
});

t.test("error data beyond the limits is ignored", async (t) => {
  const { fake, platforms } = await startFakePlatform(t, jsonAnswer(""));
  for (const [what, data] of Object.entries(excessiveAnswers('"details":"d"'))) {
    if (what === "bytes") continue;
    fake.answer = jsonAnswer(JSON.stringify({ error: { code: 100, message: "no", error_data: data } }), 400);
    const refused = await send(platforms);
    t.match(refused, { outcome: "refused", error: { code: 100 } }, what);
    t.notHas(refused, { error: { details: "d" } }, what);
  }
});

t.test("a page of 500 insights rows with many actions is read", async (t) => {
  const actions = Array.from({ length: 200 }, (_, index) => ({ action_type: `type_${index}`, value: "1" }));
  const data = Array.from({ length: 500 }, () => ({ spend: "1.00", id: "12345678901234567890", actions }));
  const { platforms } = await startFakePlatform(t, jsonAnswer(JSON.stringify({ data })));
  t.equal((await platforms.ads.insights.rows(DEMO_AD_ACCESS, {})).items.length, 500);
});

t.test("an unconfirmed create is ambiguous and is not retried", async (t) => {
  const { fake, platforms } = await startFakePlatform(t, jsonAnswer(""));
  for (const body of [...UNCONFIRMED_ANSWERS, "{}"]) {
    fake.answer = jsonAnswer(body);
    fake.requestCount = 0;
    await t.rejects(
      platforms.ads.objects.create(DEMO_AD_ACCESS, "campaigns", { fields: { name: "x" } }),
      failedAs("ambiguous"),
    );
    t.equal(fake.requestCount, 1, body);
  }
});

t.test("a response without the required data is unusable", async (t) => {
  const { fake, platforms } = await startFakePlatform(t, jsonAnswer("{}"));
  const { ads, chat } = platforms;
  const calls: Record<string, () => Promise<unknown>> = {
    account: () => ads.accounts.read(DEMO_AD_ACCESS),
    accounts: () => ads.accounts.listAll("t"),
    number: () => chat.numbers.read(DEMO_CHAT_NUMBER),
    permissions: () => ads.tokens.permissions("t"),
    token: () => ads.tokens.inspect("t"),
    exchange: () => ads.tokens.exchangeCode("c", "https://client.example/"),
    templates: () => chat.templates.listAll(DEMO_CHAT_NUMBER),
    image: () => ads.media.uploadImage(DEMO_AD_ACCESS, { bytes: Buffer.from("x") }),
  };
  for (const [what, call] of Object.entries(calls))
    await t.rejects(call(), failedAs("unusable_answer"), what);
  fake.answer = jsonAnswer('{"success":false}');
  await t.rejects(chat.numbers.register(DEMO_CHAT_NUMBER, "123456"), failedAs("unusable_answer"));
  fake.answer = jsonAnswer("true");
  await chat.numbers.subscribe(DEMO_CHAT_NUMBER);
  fake.answer = jsonAnswer('{"data":[{"name":"no id"}]}');
  await t.rejects(ads.accounts.listAll("t"), failedAs("unusable_answer"), "a list without any usable row");
  fake.answer = jsonAnswer('{"data":[{"name":"no id"},{"id":"act_7","account_status":"soon"}]}');
  t.match(await ads.accounts.listAll("t"), [{ ad_account_id: "act_7", account_status: 0 }]);
});

t.test("invalid times and numbers are ignored", async (t) => {
  const { fake, platforms } = await startFakePlatform(
    t,
    jsonAnswer('{"access_token":"t","expires_in":"soon"}'),
  );
  const { tokens } = platforms.ads;
  t.same(await tokens.prolong("s"), { token: "t" });
  fake.answer = jsonAnswer('{"data":{"is_valid":true,"expires_at":9e15,"scopes":[{"toString":1},"a"]}}');
  t.match(await tokens.inspect("t"), { valid: true, expiresAt: null, scopes: ["a"] });
});

t.test("malformed errors count as refusals", async (t) => {
  const { fake, platforms } = await startFakePlatform(t, jsonAnswer(""));
  const blame = '{"error":{"code":100,"error_data":{"blame_field_specs":[{"toString":1},["a","b"]]}}}';
  fake.answer = jsonAnswer(blame, 400);
  t.match(await send(platforms), { outcome: "refused", error: { code: 100, fields: ["a.b"] } });
  fake.answer = jsonAnswer('{"error":{"message":"busy"}}', 429);
  t.match(await send(platforms), { outcome: "retry" });
});

t.test("a protocol upgrade ends the call", async (t) => {
  const { fake, platforms } = await startFakePlatform(t, (response) => {
    (response.socket as Socket).end(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
    );
  });
  t.same(await send(platforms), { outcome: "unknown", reason: "broken" });
  t.equal(fake.requestCount, 1);
});

t.test("secrets that the platform quotes are redacted from errors and logs", async (t) => {
  const { fake, lines, platforms } = await startFakePlatform(t, jsonAnswer(""));
  const secret = "sssecret";
  fake.answer = jsonAnswer(
    `{"error":{"code":100,"message":"Malformed ${secret}","error_user_msg":"${secret}"}}`,
    400,
  );
  const { tokens } = platforms.ads;
  const calls = [
    tokens.prolong(secret),
    tokens.inspect(secret),
    tokens.exchangeCode(secret, "https://client.example/"),
    platforms.ads.accounts.read({ ...DEMO_AD_ACCESS, token: secret }),
  ];
  for (const call of calls) {
    const failure = await call.then(
      () => undefined,
      (error) => error,
    );
    t.match(failure, { verdict: "invalid", message: "[secret]" });
    t.notMatch(JSON.stringify([failure.message, failure.platformError]), secret);
  }
  fake.answer = jsonAnswer(`{"data":{"is_valid":false,"error":{"message":"bad ${secret}"}}}`);
  t.match(await tokens.inspect(secret), { valid: false, reason: "bad [secret]" });
  t.notMatch(JSON.stringify(lines), secret);
});

t.test("an endless list is abandoned", async (t) => {
  let page = 0;
  const { platforms } = await startFakePlatform(t, (response) => {
    page += 1;
    jsonAnswer(
      `{"data":[{"id":"act_${page}"}],"paging":{"cursors":{"after":"c${page}"},"next":"https://x.example/"}}`,
    )(response);
  });
  await t.rejects(
    platforms.ads.accounts.listAll("t"),
    failedAs("unusable_answer", { message: /does not end|took too long/ }), // too long on a slow machine
  );
  t.ok(page <= 1_001, `${page} pages were read`);
});

t.test("a null next link ends the list", async (t) => {
  const { platforms } = await startFakePlatform(
    t,
    jsonAnswer('{"data":[{"id":"act_1"}],"paging":{"next":null}}'),
  );
  t.equal((await platforms.ads.accounts.listAll("t")).length, 1);
});

/** A throttle error with business usage headers. */
const throttledAnswer =
  (code: number, usage: Record<string, unknown>): Answer =>
  (response) => {
    response.setHeader("x-business-use-case-usage", JSON.stringify(usage));
    jsonAnswer(`{"error":{"code":${code},"message":"too many"}}`, 400)(response);
  };

const quota = (type: string, minutes: number) => ({
  type,
  call_count: 100,
  total_cputime: 1,
  total_time: 1,
  estimated_time_to_regain_access: minutes,
});

t.test("the wait reported for another account or quota is ignored", async (t) => {
  const own = DEMO_AD_ACCESS.account.replace("act_", "");
  const waits: [code: number, usage: Record<string, unknown>, seconds: number][] = [
    [4, { 222: [quota("ads_management", 600)] }, 60],
    [80004, { [own]: [quota("ads_management", 1), quota("ads_insights", 600)] }, 60],
    [80004, { 222: [quota("ads_management", 600)], [own]: [quota("ads_management", 2)] }, 120],
    [80004, { [own]: [quota("ads_management", 1e300)] }, 24 * 60 * 60],
  ];
  for (const [code, usage, seconds] of waits) {
    const { platforms } = await startFakePlatform(t, throttledAnswer(code, usage));
    await t.rejects(
      platforms.ads.accounts.read(DEMO_AD_ACCESS),
      failedAs("throttled", { wait: seconds * SECOND }),
    );
  }
});

t.test("a quota reported as used up is paused immediately", async (t) => {
  const usage = '{"acc_id_util_pct":100,"reset_time_duration":100}';
  const { fake, platforms } = await startFakePlatform(t, (response) => {
    response.setHeader("x-ad-account-usage", usage);
    jsonAnswer('{"error":{"code":2,"message":"busy"}}', 503)(response);
  });
  await t.rejects(platforms.ads.accounts.read(DEMO_AD_ACCESS), failedAs("transient"));
  t.equal(fake.requestCount, 1, "the call is not retried");
  await t.rejects(platforms.ads.accounts.read(DEMO_AD_ACCESS), failedAs("paused"));
});

t.test("an upload fails when the file exceeds its declared size or its stream breaks", async (t) => {
  const { platforms } = await startFakePlatform(t, jsonAnswer('{"id":"1"}'));
  const upload = (content: Readable) =>
    platforms.chat.media.upload(DEMO_CHAT_NUMBER, { filename: "a", type: "text/plain", content, size: 10 });
  await t.rejects(upload(Readable.from([Buffer.alloc(20)])), failedAs("unreachable"));
  const failure = new Error("the caller has disconnected");
  const broken = new Readable({
    read() {
      this.destroy(failure);
    },
  });
  await t.rejects(upload(broken), failure);
});
