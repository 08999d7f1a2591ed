import { fileURLToPath } from "node:url";
import { BroadcastChannel } from "node:worker_threads";
import t, { type Test } from "tap";
import { createImageThreads } from "../../../src/composition/web/image-threads.ts";
import { createMetrics } from "../../../src/runtime/metrics.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { RELEASE_CHANNEL } from "../../fixtures/images/failing-thread.ts";
import { TINY_IMAGES } from "../../fixtures/images/images.ts";
import { until } from "../../fixtures/until.ts";

const FAILING_THREAD = fileURLToPath(new URL("../../fixtures/images/failing-thread.js", import.meta.url));
const by = { clientId: "a client", signal: new AbortController().signal };

function open(t: Test, options: { file?: string; threads?: number } = {}) {
  const { log, lines, events } = captureLog();
  const metrics = createMetrics("test");
  const images = createImageThreads({ threads: 1, log, metrics, ...options });
  t.teardown(() => images.close?.());
  const decode = (text: string, other: Partial<typeof by> = {}) =>
    images.decode(Buffer.from(text), { ...by, ...other });
  return { images, decode, metrics, lines, events };
}

const upload = (fields: object) => JSON.stringify({ ad_account_id: "act_1", ...fields });

t.test("an upload is parsed, decoded and measured", async (t) => {
  const { decode, images, metrics } = open(t);
  const bytes = Buffer.from(TINY_IMAGES.png, "base64");
  const decoded = await decode(upload({ name: "a", bytes_base64: TINY_IMAGES.png }));
  t.same(decoded, {
    outcome: "decoded",
    image: { adAccountId: "act_1", name: "a", width: 3, height: 2, bytes: new Uint8Array(bytes).buffer },
  });
  t.match(await metrics.text(), /herald_image_decode_duration_seconds_count\{process="test"\} 1/);
  const large = Buffer.from(upload({ bytes_base64: "A".repeat(40_000) }));
  t.match(await images.decode(large, by), {
    outcome: "decoded",
    image: { bytes: { byteLength: 30_000 } },
  });
  t.equal(large.length, 0, "a body with memory of its own is transferred");
});

for (const [word, message] of [
  ["throw", /a defect/],
  ["throw later", /a defect/],
  ["exit", /code: 3/],
  ["use all memory", /memory limit/],
] as const)
  t.test(`after "${word}" in a thread, only that upload fails`, async (t) => {
    const { decode, events } = open(t, { file: FAILING_THREAD });
    const [failed, next] = await Promise.allSettled([decode(word), decode("next")]);
    t.match(failed, { status: "rejected", reason: { message } });
    t.match(next, { status: "fulfilled", value: { message: "next" } });
    t.match(await decode("third"), { message: "third" });
    t.same(events(), []);
  });

/** Lets the upload that waits in a thread finish. The thread may not listen yet, so the message is repeated. */
async function release(upload: Promise<unknown>): Promise<void> {
  const channel = new BroadcastChannel(RELEASE_CHANNEL);
  let isOver = false;
  const over = upload.finally(() => (isOver = true));
  await until("the upload is released", () => {
    channel.postMessage("go");
    return isOver;
  });
  channel.close();
  await over;
}

t.test(
  "a client with 16 waiting uploads is refused until one of them leaves, the others are not",
  async (t) => {
    const { decode } = open(t, { file: FAILING_THREAD });
    const running = decode("wait");
    const gone = new AbortController();
    const leaving = decode("leaving", { signal: gone.signal });
    const waiting = Array.from({ length: 15 }, () => decode("waiting"));
    await t.rejects(decode("late"), { name: "ShareRefused" });
    const other = decode("other", { clientId: "another client" });
    gone.abort();
    await t.rejects(leaving, { message: /gone/ });
    const late = decode("late");
    await release(running);
    t.match(
      await Promise.all(waiting),
      waiting.map(() => ({ message: "waiting" })),
    );
    t.match(await late, { message: "late" });
    t.match(await other, { message: "other" });
  },
);

t.test("threads that cannot start fail the uploads, and the next upload tries again", async (t) => {
  const { decode, lines } = open(t, { file: "/nonexistent/decode-image.js" });
  for (let round = 0; round < 2; round++) await t.rejects(decode("x"));
  await until("the failure is logged", () => lines.length > 0);
  t.match(lines[0], { level: "error", event: "image_threads.failed" });
});

t.test("closing ends the threads, the uploads in them and those that wait", async (t) => {
  const { decode, images } = open(t, { file: FAILING_THREAD });
  t.match(await decode("first"), { message: "first" });
  const uploads = Promise.allSettled([decode("wait"), decode("waiting")]);
  await new Promise(setImmediate); // the first upload is now in the thread
  await images.close?.();
  t.match(await uploads, [
    { status: "rejected", reason: { message: /Terminating/ } },
    { status: "rejected", reason: { message: /closed/ } },
  ]);
  await t.rejects(decode("late"), /closed/);
});

t.test("an unused pool starts no thread", async (t) => {
  const { images } = open(t, { file: "/nonexistent/decode-image.js" });
  await images.close?.();
});
