import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { Test } from "tap";
import t from "tap";
import { platformApiError } from "../../../src/http/api-error.ts";
import { toFailure } from "../../../src/platforms/client/call.ts";
import { createPlatformClient } from "../../../src/platforms/client/client.ts";
import { createTransport } from "../../../src/platforms/client/transport.ts";
import { toSendOutcome } from "../../../src/platforms/sends.ts";
import type { Fields } from "../../../src/runtime/log.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { startBackend } from "../../fixtures/events/backends.ts";
import { failedAs } from "../../fixtures/platforms/failures.ts";
import { until } from "../../fixtures/until.ts";

const MAX_SOCKETS = 8;
/** A quarter of them. */
const SHARE = 2;
const LONG_MS = 60_000;

/** A platform that answers when the test says so, except requests to /now. */
async function startSlowPlatform(t: Test) {
  const pending: ServerResponse[] = [];
  const { url, connections } = await startBackend(t, (request, response) => {
    request.resume();
    if (request.url?.startsWith("/now")) response.end("{}");
    else pending.push(response);
  });
  const transport = createTransport(MAX_SOCKETS);
  t.teardown(transport.close);
  const requestOf = (client: string, path: string, deadline = LONG_MS) =>
    ({ client, method: "POST", url: new URL(path, url), headers: {}, deadline }) as const;
  return {
    url,
    connections,
    pending,
    transport,
    requestOf,
    send: (...args: Parameters<typeof requestOf>) => transport.run({ ...requestOf(...args), body: "{}" }),
    upload: (...args: Parameters<typeof requestOf>) =>
      transport.run({ ...requestOf(...args), body: Readable.from([Buffer.from("x")]) }),
  };
}

t.test("a client uses at most a quarter of the sockets to a host, and the others go through", async (t) => {
  const platform = await startSlowPlatform(t);
  const { pending, send, upload } = platform;
  const calls = [send("a", "/slow"), upload("a", "/slow")];
  await until("the client's share is in use", () => pending.length === SHARE);
  const waiting = [send("a", "/slow"), upload("a", "/slow")];
  t.match(await send("b", "/now"), { outcome: "answered" });
  t.match(await upload("b", "/now"), { outcome: "answered" });
  t.equal(pending.length, SHARE, "further calls of the first client wait");
  for (const response of pending.splice(0)) response.end("{}");
  await until("the waiting calls are sent", () => pending.length === SHARE);
  for (const response of pending) response.end("{}");
  for (const result of await Promise.all([...calls, ...waiting])) t.match(result, { outcome: "answered" });
});

t.test("a call that gets no socket within its deadline is not sent", async (t) => {
  const { pending, send, upload } = await startSlowPlatform(t);
  const calls = Array.from({ length: SHARE }, () => send("a", "/slow"));
  await until("the client's share is in use", () => pending.length === SHARE);
  t.same(await send("a", "/slow", 200), { outcome: "no_socket" });
  t.same(await upload("a", "/slow", 200), { outcome: "no_socket" });
  t.equal(pending.length, SHARE);
  for (const response of pending) response.end("{}");
  await Promise.all(calls);
  const outcome = { outcome: "no_socket" } as const;
  t.match(platformApiError(toFailure(outcome, { effect: "create" })), {
    status: 429,
    code: "rate_limited",
    headers: { "Retry-After": "5" },
    extra: { retryable: true },
  });
  t.same(
    toSendOutcome(outcome, () => undefined),
    { outcome: "retry", pair: false },
  );
});

t.test("a download holds its socket until its body is closed", async (t) => {
  const { pending, transport, requestOf, send } = await startSlowPlatform(t);
  const opening = Array.from({ length: SHARE }, () =>
    transport.open({ ...requestOf("a", "/file"), method: "GET" }),
  );
  await until("the downloads have reached the platform", () => pending.length === SHARE);
  for (const response of pending) response.write("the beginning");
  const opened = await Promise.all(opening);
  t.same(await send("a", "/now", 200), { outcome: "no_socket" });
  for (const download of opened) {
    if (download.outcome !== "answered") return t.fail(download.outcome);
    download.body.destroy();
    await once(download.body, "close");
  }
  t.match(await send("a", "/now"), { outcome: "answered" });
});

t.test("the share of a call is that of the client in its log fields, or of its batches", async (t) => {
  const { url, pending, transport } = await startSlowPlatform(t);
  const { log } = captureLog();
  const pauses = { remaining: async () => 0, pause: async () => {} };
  const app = { id: "1", secret: "secret" };
  const client = createPlatformClient({ name: "ads", address: url, app, transport, pauses, log });
  const read = (path: string, about: Fields, deadline = LONG_MS) =>
    client.callOrThrow({ effect: "read", method: "GET", path, about, deadline });
  const [single, ofBatch] = [{ client: "a" }, { client: "a", batch_id: "bat_1" }];
  for (const [about, other] of [
    [single, ofBatch],
    [ofBatch, single],
  ] as const) {
    const reads = Array.from({ length: SHARE }, () => read("/slow", about));
    await until("the share is in use", () => pending.length === SHARE);
    await t.rejects(read("/now", about, 200), failedAs("no_socket"));
    t.same(await read("/now", { client: "b" }), {});
    t.same(await read("/now", other), {});
    for (const response of pending.splice(0)) response.end("{}");
    await Promise.all(reads);
  }
});
