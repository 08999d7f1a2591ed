import t from "tap";
import type { PlatformFailure } from "../../../src/platforms/errors/failure.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import {
  DEMO_AD_ACCESS,
  DEMO_CHAT_NUMBER,
  type Fault,
  sendNow,
  startPlatforms,
} from "../../fixtures/platforms/platforms.ts";
import { issueAdToken } from "../../fixtures/sandbox/ad-platform.ts";

const OTHER_AD_ACCESS = { account: "act_1600000000000102", token: issueAdToken(["1600000000000102"]) };

const failureOf = async (work: Promise<unknown>): Promise<PlatformFailure | undefined> =>
  work.then(
    () => undefined,
    (error) => error,
  );

/** The failure's wait in seconds. */
const waitOf = (failure: PlatformFailure | undefined) => Math.ceil((failure?.wait ?? 0) / SECOND);

/** Throttle codes and their wait in seconds without usage headers. */
const CODES: [fault: Omit<Fault, "kind">, seconds: number][] = [
  [{ code: 4 }, 60],
  [{ code: 17, subcode: 2446079 }, 60],
  [{ code: 32 }, 60],
  [{ code: 341 }, 60],
  [{ code: 613, subcode: 1487742 }, 60],
  [{ code: 613 }, 60],
  [{ code: 613, subcode: 1487632 }, 3600],
  [{ code: 80000, subcode: 2446079 }, 60],
  [{ code: 80004, subcode: 2446079 }, 60],
  [{ code: 80008 }, 60],
  [{ code: 80014 }, 60],
];

t.test("every throttle code sets a wait", async (t) => {
  for (const [{ code, subcode }, seconds] of CODES) {
    const context = await startPlatforms(t);
    await context.arm({ kind: "error", ...(code ? { code } : {}), ...(subcode ? { subcode } : {}) });
    const failure = await failureOf(context.platforms.ads.accounts.read(DEMO_AD_ACCESS));
    t.match(failure, { verdict: "throttled", retryable: true }, `${code}/${subcode}`);
    t.equal(waitOf(failure), seconds);
    t.match(failure?.platformError, { code });
  }
});

t.test("the wait is taken from the usage headers, in each header's unit", async (t) => {
  const context = await startPlatforms(t);
  await context.arm({ kind: "throttle", ms: 300_000 });
  const failure = await failureOf(context.platforms.ads.accounts.read(DEMO_AD_ACCESS));
  t.equal(waitOf(failure), 300);
  t.match(context.lines.at(-1), {
    event: "platform.called",
    outcome: "throttled",
    usage_account: 100,
    usage_business: 100,
    usage_app: Number,
  });
});

t.test("a throttled account is not called by any process until its wait is over", async (t) => {
  const context = await startPlatforms(t);
  const another = await context.connectAnother();
  await context.arm({ kind: "throttle", ms: 120_000 });
  await failureOf(context.platforms.ads.accounts.read(DEMO_AD_ACCESS));
  const callCount = (await context.receivedCalls()).length;
  for (const { ads } of [context.platforms, another]) {
    const failure = await failureOf(ads.accounts.read(DEMO_AD_ACCESS));
    t.match(failure, { verdict: "paused", retryable: true });
    t.ok(waitOf(failure) > 100 && waitOf(failure) <= 120);
    t.notOk(failure?.platformError, "the failure has no platform error");
  }
  t.equal((await context.receivedCalls()).length, callCount, "the platform received no further calls");
  t.match(context.lines.at(-1), { outcome: "paused", tries: 0 });
});

t.test("a throttle does not affect other accounts, quotas and platforms", async (t) => {
  const context = await startPlatforms(t);
  await context.arm({ kind: "throttle", match: { path_prefix: `/${DEMO_AD_ACCESS.account}` }, ms: 60_000 });
  await failureOf(context.platforms.ads.accounts.read(DEMO_AD_ACCESS));
  t.match(await context.platforms.ads.accounts.read(OTHER_AD_ACCESS), {
    ad_account_id: OTHER_AD_ACCESS.account,
  });
  t.ok(
    (await context.platforms.ads.insights.rows(DEMO_AD_ACCESS, {})).items.length > 0,
    "another quota of the same account",
  );
  t.match(await context.platforms.chat.numbers.read(DEMO_CHAT_NUMBER), {
    phone_number_id: DEMO_CHAT_NUMBER.phoneNumberId,
  });
});

t.test("a limit of an account or of its quota pauses that account only", async (t) => {
  for (const code of [17, 32, 613, 80004]) {
    const { arm, platforms } = await startPlatforms(t);
    await arm({ kind: "error", code });
    t.match(await failureOf(platforms.ads.accounts.read(DEMO_AD_ACCESS)), { platformError: { code } });
    t.match(await failureOf(platforms.ads.accounts.read(DEMO_AD_ACCESS)), { verdict: "paused" });
    t.match(await platforms.ads.accounts.read(OTHER_AD_ACCESS), { ad_account_id: OTHER_AD_ACCESS.account });
    t.ok(await platforms.chat.numbers.read(DEMO_CHAT_NUMBER));
  }
});

t.test("a throttle of the app pauses background jobs only, in all processes", async (t) => {
  for (const code of [4, 341]) {
    const context = await startPlatforms(t);
    const { ads, chat } = context.platforms;
    const background = await context.connectAnother({ isBackground: true });
    await context.arm({ kind: "throttle", code });
    t.match(await failureOf(ads.accounts.read(DEMO_AD_ACCESS)), { verdict: "throttled", pauses: "app" });
    t.match(context.lines.at(-1), { outcome: "throttled", code, pauses: "app" });
    t.ok(await ads.accounts.read(DEMO_AD_ACCESS), "the same account");
    t.ok(await ads.accounts.read(OTHER_AD_ACCESS), "another account");
    t.ok(await chat.numbers.read(DEMO_CHAT_NUMBER), "another platform");
    const failure = await failureOf(background.chat.numbers.read(DEMO_CHAT_NUMBER));
    t.match(failure, { verdict: "paused", pauses: "app" });
    t.ok(waitOf(failure) > 0 && waitOf(failure) <= 60);
    t.match(context.lines.at(-1), { outcome: "paused", pauses: "app", tries: 0 });
  }
});

t.test("a limit reported for a call without an account pauses no other client's call", async (t) => {
  const context = await startPlatforms(t);
  const { tokens } = context.platforms.ads;
  const exchange = () => failureOf(tokens.exchangeCode("a code", "https://client.example/"));
  await context.arm({ kind: "error", code: 613, subcode: 1487632 });
  t.match(await exchange(), { verdict: "throttled", wait: 3_600_000, pauses: undefined });
  t.match(await exchange(), { verdict: "invalid" }, "the next exchange is tried");
});

t.test("a limit on budget changes pauses only changes of that object", async (t) => {
  const context = await startPlatforms(t);
  const { objects } = context.platforms.ads;
  const campaign = { name: "Paused", objective: "OUTCOME_TRAFFIC" };
  const { id: paused } = await objects.create(DEMO_AD_ACCESS, "campaigns", { fields: campaign });
  const { id: free } = await objects.create(DEMO_AD_ACCESS, "campaigns", { fields: campaign });
  const rename = (id: string, name: string) =>
    objects.update(DEMO_AD_ACCESS, "campaigns", { id, fields: { name } });
  await context.arm({ kind: "error", match: { method: "POST" }, code: 613, subcode: 1487632 });
  t.equal(waitOf(await failureOf(rename(paused, "a"))), 3600);
  t.match(await failureOf(rename(paused, "b")), { verdict: "paused" });
  t.match(
    await objects.read(DEMO_AD_ACCESS, "campaigns", paused),
    { name: "Paused" },
    "reads are not paused",
  );
  await rename(free, "Changed");
  t.match(await objects.read(DEMO_AD_ACCESS, "campaigns", free), { name: "Changed" });
});

t.test("a business over its management quota can still send", async (t) => {
  const context = await startPlatforms(t);
  await context.arm({ kind: "throttle", match: { method: "GET" } });
  await failureOf(context.platforms.chat.numbers.read(DEMO_CHAT_NUMBER));
  t.match(await failureOf(context.platforms.chat.numbers.read(DEMO_CHAT_NUMBER)), {
    verdict: "paused",
  });
  const message = { id: "msg_1", to: "5511999990001", type: "text", content: { body: "Hi" } };
  t.match(await sendNow(context.platforms.chat.messages.prepare(DEMO_CHAT_NUMBER, message)), {
    outcome: "accepted",
  });
});
