import { fileURLToPath } from "node:url";
import { BroadcastChannel } from "node:worker_threads";
import type { Test } from "tap";
import t from "tap";
import { createImageThreads } from "../../../../src/composition/web/image-threads.ts";
import type { ImageDecoder } from "../../../../src/domain/ads/base64-images.ts";
import { imageRoute, type MediaParts } from "../../../../src/resources/marketing/media/routes.ts";
import { createMetrics } from "../../../../src/runtime/metrics.ts";
import { captureLog } from "../../../fixtures/captured-log.ts";
import { callerHeaders, startApi } from "../../../fixtures/http/api.ts";
import { RELEASE_CHANNEL } from "../../../fixtures/images/failing-thread.ts";
import { until } from "../../../fixtures/until.ts";

/** The endpoint with threads that answer only when the test lets them. */
const FILE = fileURLToPath(new URL("../../../fixtures/images/failing-thread.js", import.meta.url));
const PATH = "/api/marketing/images";
/** Uploads of one client that one thread and its waiting list take. */
const MAX_PER_CLIENT = 17;

async function startEndpoint(t: Test) {
  const threads = createImageThreads({
    threads: 1,
    log: captureLog().log,
    metrics: createMetrics("test"),
    file: FILE,
  });
  let uploads = 0;
  const images: ImageDecoder = {
    decode(...upload) {
      const decoded = threads.decode(...upload); // has a place, or was refused
      uploads += 1;
      return decoded;
    },
  };
  const api = await startApi(t, {
    // No upload gets as far as the other parts.
    routes: (db) => [imageRoute({ db, images } as unknown as MediaParts)],
    gates: { terms: async () => {} },
  });
  t.teardown(() => threads.close?.());
  const headers = await callerHeaders(api.db, { scopes: new Set(["marketing:manage"]) });
  const untilUploads = (count: number) => until(`${count} uploads have arrived`, () => uploads === count);
  return { api, headers, untilUploads };
}

t.test("uploads beyond the waiting list are 503, and a disconnected caller leaves it", async (t) => {
  const { api, headers, untilUploads } = await startEndpoint(t);
  const post = (body: string, init: RequestInit = {}) =>
    fetch(api.address + PATH, {
      method: "POST",
      body,
      ...init,
      headers: { ...headers, "x-request-id": body },
    });

  const running = post("wait");
  await untilUploads(1);
  const gone = new AbortController();
  const leaving = post("leaving", { signal: gone.signal }).catch(() => "disconnected");
  await untilUploads(2);
  const waiting = Array.from({ length: MAX_PER_CLIENT - 2 }, () => post("waiting"));
  await untilUploads(MAX_PER_CLIENT);
  const late = await post("late");
  t.equal(late.status, 503);
  t.equal(late.headers.get("retry-after"), "5");
  t.match(await late.json(), { error: "overloaded" });

  gone.abort();
  t.equal(await leaving, "disconnected");
  await until("the waiting upload has ended", () =>
    api.lines.some(({ event, request_id }) => event === "http.request" && request_id === "leaving"),
  );

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
