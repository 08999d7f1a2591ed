import t from "tap";
import type { PlatformFailure } from "../../../src/platforms/errors/failure.ts";
import { ACCOUNT, type Fault, NUMBER, startScene } from "../../fixtures/platforms/platforms.ts";
import { adToken } from "../../fixtures/sandbox/ad-platform.ts";

const refused = async (work: Promise<unknown>): Promise<PlatformFailure | undefined> =>
  work.then(
    () => undefined,
    (error) => error,
  );

const retryAfter = (failure: PlatformFailure | undefined) => Number(failure?.headers["Retry-After"]);

/** Each code, and for how long without word from the headers. */
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

t.test("every limit is a 429 that says how long to stay away", async (t) => {
  for (const [{ code, subcode }, seconds] of CODES) {
    const scene = await startScene(t);
    await scene.arm({ kind: "error", ...(code ? { code } : {}), ...(subcode ? { subcode } : {}) });
    const failure = await refused(scene.platforms.ads.accounts.read(ACCOUNT));
    t.match(failure, { status: 429, code: "platform_rate_limited", retryable: true }, `${code}/${subcode}`);
    t.equal(retryAfter(failure), seconds);
    t.match(failure?.extra.platform_error, { code });
  }
});

t.test("the usage headers decide how long, in their own units", async (t) => {
  const scene = await startScene(t);
  await scene.arm({ kind: "throttle", ms: 300_000 });
  const failure = await refused(scene.platforms.ads.accounts.read(ACCOUNT));
  t.equal(retryAfter(failure), 300);
  t.match(scene.lines.at(-1), {
    event: "platform.called",
    outcome: "throttled",
    usage_account: 100,
    usage_business: 100,
    usage_app: Number,
  });
});

t.test("a throttled account is not called before its time, by no process of ours", async (t) => {
  const scene = await startScene(t);
  const another = await scene.another();
  await scene.arm({ kind: "throttle", ms: 120_000 });
  await refused(scene.platforms.ads.accounts.read(ACCOUNT));
  const asked = (await scene.received()).length;
  for (const { ads } of [scene.platforms, another]) {
    const failure = await refused(ads.accounts.read(ACCOUNT));
    t.match(failure, { status: 429, code: "platform_rate_limited" });
    t.ok(retryAfter(failure) > 100 && retryAfter(failure) <= 120);
    t.notOk(failure?.extra.platform_error, "it is our own word");
  }
  t.equal((await scene.received()).length, asked, "the platform heard of none of them");
  t.match(scene.lines.at(-1), { outcome: "held", tries: 0 });
});

t.test("another account, another quota and another platform go on", async (t) => {
  const scene = await startScene(t);
  await scene.arm({ kind: "throttle", match: { path_prefix: `/${ACCOUNT.account}` }, ms: 60_000 });
  await refused(scene.platforms.ads.accounts.read(ACCOUNT));
  const other = { account: "act_1600000000000102", token: adToken(["1600000000000102"]) };
  t.match(await scene.platforms.ads.accounts.read(other), { ad_account_id: other.account });
  t.ok((await scene.platforms.ads.insights.rows(ACCOUNT, {})).items.length > 0, "another quota of the same");
  t.match(await scene.platforms.chat.numbers.read(NUMBER), { phone_number_id: NUMBER.phoneNumberId });
});

t.test("a limit of the whole app holds everything", async (t) => {
  const scene = await startScene(t);
  await scene.arm({ kind: "error", code: 4 });
  await refused(scene.platforms.ads.accounts.read(ACCOUNT));
  t.match(await refused(scene.platforms.chat.numbers.read(NUMBER)), { code: "platform_rate_limited" });
});

t.test("too many budget changes hold changes of that ad set alone", async (t) => {
  const scene = await startScene(t);
  const { objects } = scene.platforms.ads;
  const campaign = { name: "Held", objective: "OUTCOME_TRAFFIC" };
  const [held, free] = [
    await objects.create(ACCOUNT, "campaigns", campaign),
    await objects.create(ACCOUNT, "campaigns", campaign),
  ];
  await scene.arm({ kind: "error", match: { method: "POST" }, code: 613, subcode: 1487632 });
  t.equal(retryAfter(await refused(objects.update(ACCOUNT, held, { name: "a" }))), 3600);
  t.match(await refused(objects.update(ACCOUNT, held, { name: "b" })), { code: "platform_rate_limited" });
  t.match(await objects.read(ACCOUNT, "campaigns", held), { name: "Held" }, "it can be read");
  await objects.update(ACCOUNT, free, { name: "Changed" });
  t.match(await objects.read(ACCOUNT, "campaigns", free), { name: "Changed" });
});

t.test("what is managed too much may still send", async (t) => {
  const scene = await startScene(t);
  await scene.arm({ kind: "throttle", match: { method: "GET" } });
  await refused(scene.platforms.chat.numbers.read(NUMBER));
  t.match(await refused(scene.platforms.chat.numbers.read(NUMBER)), { code: "platform_rate_limited" });
  const message = { id: "msg_1", to: "5511999990001", type: "text", content: { body: "Hi" } };
  t.match(await scene.platforms.chat.messages.send(NUMBER, message), { outcome: "accepted" });
});
