import { fileURLToPath } from "node:url";
import { BroadcastChannel } from "node:worker_threads";
import t, { type Test } from "tap";
import { createImageThreads } from "../../../../src/composition/web/image-threads.ts";
import { type ImageParts, imageRoute } from "../../../../src/resources/marketing/media/image-route.ts";
import { createMetrics } from "../../../../src/runtime/metrics/metrics.ts";
import { captureLog } from "../../../fixtures/captured-log.ts";
import { callerHeaders, startApi } from "../../../fixtures/http/api.ts";
import { RELEASE_CHANNEL } from "../../../fixtures/images/failing-thread.ts";
import { until } from "../../../fixtures/until.ts";

/** The endpoint with threads that answer only when the test lets them. */
const FILE = fileURLToPath(new URL("../../../fixtures/images/failing-thread.js", import.meta.url));
const PATH = "/api/marketing/images";
/** Uploads of one client that one thread and its waiting list take. */
const MAX_PER_CLIENT = 12;

async function startEndpoint(t: Test) {
  const images = createImageThreads({
    threads: 1,
    log: captureLog().log,
    metrics: createMetrics("test"),
    file: FILE,
  });
  const api = await startApi(t, {
    // No upload gets as far as the other parts.
    routes: (db) => [imageRoute({ db, images } as unknown as ImageParts)],
    gates: { terms: async () => {} },
  });
  t.teardown(() => images.close?.());
  return { api, headers: await callerHeaders(api.db, { scopes: new Set(["marketing:manage"]) }) };
}

t.test("uploads beyond the waiting list are 503, and a disconnected caller leaves it", async (t) => {
  const { api, headers } = await startEndpoint(t);
  const post = (body: string, init: RequestInit = {}) =>
    fetch(api.address + PATH, { method: "POST", headers, body, ...init });
  const repliesLogged = () => api.lines.filter(({ event }) => event === "http.request").length;

  const running = post("wait");
  const gone = new AbortController();
  const leaving = post("leaving", { signal: gone.signal }).catch(() => "disconnected");
  const waiting = Array.from({ length: MAX_PER_CLIENT - 2 }, () => post("waiting"));
  const late = await until("the waiting list is full", async () => {
    const probe = await Promise.race([post("waiting"), ...waiting]);
    return probe.status === 503 ? probe : undefined;
  });
  t.equal(late.headers.get("retry-after"), "5");
  t.match(await late.json(), { error: "overloaded" });

  const logged = repliesLogged();
  gone.abort();
  t.equal(await leaving, "disconnected");
  await until("the waiting upload has ended", () => repliesLogged() === logged + 1);

  const channel = new BroadcastChannel(RELEASE_CHANNEL);
  t.teardown(() => channel.close());
  let isReleased = false;
  void running.then(() => (isReleased = true));
  await until("the running upload is released", () => {
    channel.postMessage("go");
    return isReleased;
  });
  for (const reply of await Promise.all([running, ...waiting])) t.equal(reply.status, 400);
});

t.test("a thread that dies is a 500 for its upload only", async (t) => {
  const { api, headers } = await startEndpoint(t);
  const post = (raw: string) => api.call("POST", PATH, { headers, raw });
  const replies = await Promise.all([post("exit"), post("one"), post("throw later"), post("two")]);
  t.same(
    replies.map(({ status, body }) => [status, body.error]),
    [
      [500, "internal_error"],
      [400, "validation_failed"],
      [500, "internal_error"],
      [400, "validation_failed"],
    ],
  );
});
