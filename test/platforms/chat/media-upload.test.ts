import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import t, { type Test } from "tap";
import { ApiError } from "../../../src/http/api-error.ts";
import { route } from "../../../src/http/route.ts";
import { object, Type } from "../../../src/schema/types.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { startSmallApp } from "../../fixtures/http/small-app.ts";
import { startMediaPlatform } from "../../fixtures/platforms/media-platform.ts";
import { connectPlatforms, DEMO_CHAT_NUMBER } from "../../fixtures/platforms/platforms.ts";
import { allocateRedisDatabase } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

const READ_AHEAD_BYTES = 256 * 1_024;
const CHUNK = Buffer.alloc(65_536, "x");

async function startUploads(t: Test) {
  const platform = await startMediaPlatform(t);
  const received: IncomingMessage[] = [];
  const { upload } = platform;
  platform.upload = (response, incoming) => {
    received.push(incoming);
    upload(response, incoming);
  };
  const settings = { CHAT_PLATFORM_URL: `${platform.url}/v26.0`, REDIS_URL: await allocateRedisDatabase() };
  const { chat } = await connectPlatforms(t, settings, { log: captureLog().log });
  const uploadFile = (content: AsyncIterable<Uint8Array>, size?: number) =>
    chat.media.upload(DEMO_CHAT_NUMBER, { filename: "file", type: "text/plain", content, size });
  return { platform, received, uploadFile };
}

t.test("the platform is called when 256 KiB or the whole file have come", async (t) => {
  const { platform, received, uploadFile } = await startUploads(t);
  async function* content() {
    for (let bytes = 0; bytes < READ_AHEAD_BYTES; bytes += CHUNK.length) {
      t.equal(received.length, 0, `${bytes} bytes`);
      yield CHUNK;
    }
    await until("the platform receives the request", () => received.length === 1);
    yield CHUNK;
  }
  t.equal(await uploadFile(content()), "77");
  t.ok((platform.uploadedBytes[0] ?? 0) > READ_AHEAD_BYTES + CHUNK.length);
  async function* short() {
    yield Buffer.from("short");
  }
  t.equal(await uploadFile(short(), 5), "77");
});

t.test("an upload ends with the error of its source", async (t) => {
  const { platform, received, uploadFile } = await startUploads(t);
  const refusal = new ApiError("request_timeout", "The body did not arrive in time");
  async function* failAfter(bytes: number) {
    for (let sent = 0; sent < bytes; sent += CHUNK.length) yield CHUNK;
    if (bytes > READ_AHEAD_BYTES) await until("the platform receives the request", () => received.length > 0);
    throw refusal;
  }
  await t.rejects(uploadFile(failAfter(0)), refusal);
  await t.rejects(uploadFile(failAfter(CHUNK.length), 1_000_000), refusal);
  t.equal(platform.connections(), 0, "the platform was not called");
  await t.rejects(uploadFile(failAfter(READ_AHEAD_BYTES + 1), 1_000_000), refusal);
  t.same(platform.uploadedBytes, [], "the file is incomplete");
});

t.test("a slow upload is 408 and no fault in the log", async (t) => {
  const { received, uploadFile } = await startUploads(t);
  const upload = route({
    method: "post",
    path: "/upload",
    summary: "Upload",
    scope: "public",
    body: { stream: true, limit: 10 * READ_AHEAD_BYTES, mediaTypes: ["*/*"] },
    reply: object({ id: Type.String() }),
    handle: async ({ body }) => ({ id: await uploadFile(body.content, body.size) }),
  });
  const bodyLimits = { rateAfterMs: 1_500, minBytesPerSecond: 10_000_000 };
  const { address, lines } = await startSmallApp(t, [upload], { bodyLimits });
  for (const bytes of [CHUNK.length, READ_AHEAD_BYTES + CHUNK.length]) {
    const headers = { "content-type": "text/plain", "content-length": 5 * READ_AHEAD_BYTES };
    const outgoing = request(`${address}/upload`, { method: "POST", headers, agent: false });
    outgoing.on("error", () => {});
    for (let sent = 0; sent < bytes; sent += CHUNK.length) outgoing.write(CHUNK);
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    t.equal(response.statusCode, 408, `${bytes} bytes`);
    response.resume();
    outgoing.destroy();
  }
  t.equal(received.length, 1, "only the second upload reached the platform");
  t.notOk(lines.some(({ event }) => event === "http.failed"));
});
