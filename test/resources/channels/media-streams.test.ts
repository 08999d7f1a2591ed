import { once } from "node:events";
import { Agent, type ClientRequest, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import t from "tap";
import { startBackend } from "../../fixtures/events/backends.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { startMediaPlatform } from "../../fixtures/platforms/media-platform.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const MIB = 1_048_576;
const MAX_FILE_BYTES = 10 * MIB;
const TOKEN = "a-token-to-look-for";

/** The platform is called when so much of a file has come. */
const READ_AHEAD_BYTES = 256 * 1_024;

/** A single shared chunk, so that the sender itself uses no memory. */
const CHUNK = Buffer.alloc(65_536, "x");

/**
 * Writes up to `size` bytes as fast as the target accepts them; `sent` returns the bytes so far. Continues after each
 * write, because Node's client emits no "drain" once the response has come.
 */
function writeBytes(target: ClientRequest | ServerResponse, size: number): { sent(): number } {
  let sent = 0;
  const writeMore = () => {
    if (sent === size || target.destroyed) return void target.end();
    const chunk = CHUNK.subarray(0, Math.min(CHUNK.length, size - sent));
    sent += chunk.length;
    target.write(chunk, writeMore);
  };
  writeMore();
  return { sent: () => sent };
}

async function sizeOf(stream: Readable): Promise<number> {
  let size = 0;
  for await (const chunk of stream) size += chunk.length;
  return size;
}

/** Waits until the measured value stops changing. */
async function waitUntilStable(what: string, measure: () => number): Promise<number> {
  let [last, since] = [measure(), Date.now()];
  await until(what, () => {
    const now = measure();
    if (now !== last) [last, since] = [now, Date.now()];
    return Date.now() - since > 500;
  });
  return last;
}

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** Returns what is still referenced: garbage would depend on when the engine last collected. Excludes the kernel's buffers. */
const memoryInUse = () => {
  collectGarbage();
  const { arrayBuffers, heapUsed } = process.memoryUsage();
  return arrayBuffers + heapUsed;
};

/** Waits, because the engine releases the buffers that it has collected on another thread, some time later. */
const untilMemoryIsBelow = (bytes: number) =>
  until(`the memory in use is below ${bytes} bytes`, () => memoryInUse() < bytes);

t.test("media streams", async (t) => {
  const platform = await startMediaPlatform(t);
  const defaults = { ...platform, described: { ...platform.described } };
  const api = await startApi(t, { settings: { CHAT_PLATFORM_URL: `${platform.url}/v26.0` } });
  const tenant = await makeTenant(api);
  const channel = await makeChannel(api, tenant, { token: TOKEN });
  const { headers } = await tenant.createKey("messages:send");
  const base = `/api/channels/${channel}/media`;
  t.afterEach(() => {
    const { described, file, upload } = defaults;
    Object.assign(platform, { described: { ...described }, file, upload });
    platform.uploadedBytes.length = 0;
  });

  let count = 0;
  /** Sets a request id, so that its log entry can be found. */
  const openRequest = (method: string, extra: Record<string, string> = {}, agent: Agent | false = false) => {
    const id = `stream-${count++}`;
    const path = method === "POST" ? base : `${base}/1`;
    const outgoing = request(`${api.address}${path}`, {
      method,
      headers: { ...headers, "x-request-id": id, "content-type": "application/pdf", ...extra },
      agent,
    });
    outgoing.on("error", () => {});
    const line = () =>
      until("the request's log entry is written", () =>
        api.lines.find(({ event, request_id }) => event === "http.request" && request_id === id),
      );
    const answer = once(outgoing, "response").then(([response]) => response as IncomingMessage);
    answer.catch(() => {});
    return { outgoing, line, answer, id };
  };
  const get = () => {
    const opened = openRequest("GET");
    opened.outgoing.end();
    return opened;
  };
  const textOf = async (response: IncomingMessage) => {
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) text += chunk;
    return text;
  };

  t.test("a download applies backpressure to the platform while the caller does not read", async (t) => {
    const size = 64 * MIB;
    let writer = { sent: () => 0 };
    platform.file = (response) => {
      response.setHeader("content-length", size);
      writer = writeBytes(response, size);
    };
    const before = memoryInUse();
    const { answer, line, id } = get();
    const response = await answer;
    const bytesSent = await waitUntilStable("the platform stops sending", () => writer.sent());
    t.ok(bytesSent < size / 2, `${bytesSent} bytes were sent by the platform`);
    await untilMemoryIsBelow(before + 12 * MIB);
    t.notOk(api.lines.some(({ event, request_id }) => event === "http.request" && request_id === id));
    t.equal(await sizeOf(response), size);
    t.match(await line(), { status: 200 });
    t.notOk((await line()).error);
  });

  t.test("an upload applies backpressure to the caller while the platform does not read", async (t) => {
    const pending: [ServerResponse, IncomingMessage][] = [];
    platform.upload = (...exchange) => void pending.push(exchange);
    const before = memoryInUse();
    const uploads = Array.from({ length: 8 }, () => {
      const opened = openRequest("POST", { "content-length": String(MAX_FILE_BYTES) });
      return { ...opened, ...writeBytes(opened.outgoing, MAX_FILE_BYTES) };
    });
    await until("all uploads have reached the platform", () => pending.length === uploads.length);
    const sent = () => uploads.reduce((sum, upload) => sum + upload.sent(), 0);
    await waitUntilStable("the callers stop sending", sent);
    await untilMemoryIsBelow(before + 12 * MIB);
    for (const [response, incoming] of pending) defaults.upload(response, incoming);
    for (const { answer } of uploads) t.equal((await answer).statusCode, 201);
    t.equal(platform.uploadedBytes.length, uploads.length);
    t.ok(platform.uploadedBytes.every((size) => size > MAX_FILE_BYTES));
  });

  t.test("an oversized or aborted upload never becomes a complete file on the platform", async (t) => {
    const started: IncomingMessage[] = [];
    const incomplete: IncomingMessage[] = [];
    platform.upload = (response, incoming) => {
      started.push(incoming);
      incoming.on("close", () => !incoming.complete && incomplete.push(incoming));
      defaults.upload(response, incoming);
    };
    const oversized = openRequest("POST");
    writeBytes(oversized.outgoing, MAX_FILE_BYTES + 1);
    t.equal((await oversized.answer).statusCode, 413);
    t.match(await oversized.line(), { status: 413, error: "payload_too_large" });
    for (const extra of [{}, { "content-length": String(MAX_FILE_BYTES) }]) {
      const aborted = openRequest("POST", extra as Record<string, string>);
      const startedBefore = started.length;
      for (let bytes = 0; bytes < READ_AHEAD_BYTES; bytes += CHUNK.length) aborted.outgoing.write(CHUNK);
      await until("the upload has started", () => started.length > startedBefore);
      aborted.outgoing.destroy();
      t.match(await aborted.line(), { status: 400, error: "validation_failed" });
      await until("the platform's connection closes", () => incomplete.length === started.length);
    }
    t.same(platform.uploadedBytes, []);
  });

  t.test("an upload aborted before 256 KiB have come does not reach the platform", async (t) => {
    const connections = platform.connections();
    const { outgoing, line, id } = openRequest("POST", { "content-length": String(MAX_FILE_BYTES) });
    outgoing.write(CHUNK, () => outgoing.destroy());
    t.match(await line(), { status: 400, error: "validation_failed" });
    t.equal(platform.connections(), connections);
    const events = api.lines.filter(({ request_id }) => request_id === id).map(({ event }) => event);
    t.same(events, ["http.request"], "there was no call, and no fault is logged");
  });

  t.test("a download that breaks at the platform closes the caller's connection", async (t) => {
    for (const length of [String(MIB), undefined]) {
      platform.file = (response) => {
        if (length) response.setHeader("content-length", length);
        response.write(CHUNK, () => response.destroy());
      };
      const { answer, line } = get();
      const response = await answer;
      t.equal(response.statusCode, 200);
      await t.rejects(sizeOf(response), { code: "ECONNRESET" });
      t.match(await line(), { status: 200, error: "source_broken" });
    }
  });

  t.test("a download that fails before its first byte gets 502", async (t) => {
    const FAILURES: Record<string, (response: ServerResponse) => void> = {
      "before its headers": (response) => response.destroy(),
      "after its headers": (response) => {
        response.setHeader("content-length", MIB);
        response.flushHeaders();
        setImmediate(() => response.destroy());
      },
      "with status 500": (response) => void response.writeHead(500).end("no"),
      "with a redirect": (response) => void response.writeHead(302, { location: platform.url }).end(),
    };
    for (const [how, file] of Object.entries(FAILURES)) {
      platform.file = file;
      const response = await get().answer;
      t.equal(response.statusCode, 502, how);
      t.equal(response.headers["content-disposition"], undefined, how);
      t.match(JSON.parse(await textOf(response)), { error: "platform_unavailable", retryable: true }, how);
    }
    platform.file = (response) => void response.writeHead(404).end("no");
    t.equal((await get().answer).statusCode, 404, "an expired file URL");
  });

  t.test("a caller that disconnects closes the platform's connection", async (t) => {
    let isClosed = false;
    platform.file = (response) => {
      response.on("close", () => (isClosed = true));
      writeBytes(response, 64 * MIB);
    };
    const { answer, outgoing, line } = get();
    (await answer).once("data", () => outgoing.destroy());
    await until("the platform's connection closes", () => isClosed);
    t.match(await line(), { status: 200, error: "caller_gone" });
  });

  t.test("a caller that disconnects before the response closes the platform's connection", async (t) => {
    let [isClosed, openResponse] = [false, undefined as ServerResponse | undefined];
    platform.file = (response) => {
      openResponse = response;
      response.on("close", () => (isClosed = true));
    };
    const { outgoing, line } = get();
    const pending = await until("the platform receives the request", () => openResponse);
    outgoing.destroy();
    await until("the caller has disconnected", () => outgoing.closed);
    writeBytes(pending, 64 * MIB);
    await until("the platform's connection closes", () => isClosed);
    t.match(await line(), { error: "caller_gone" });
  });

  t.test("files are fetched only from allowed hosts", async (t) => {
    const otherServer = await startBackend(t, (_, response) => void response.end("stolen"));
    for (const url of [
      `${otherServer.url}/file`,
      platform.url.replace("127.0.0.1", "localhost"),
      `http://${new URL(platform.url).host}@${new URL(otherServer.url).host}/file`,
      "file:///etc/passwd",
      "not an address",
      "",
    ]) {
      platform.described.url = url;
      const response = await get().answer;
      t.equal(response.statusCode, 502, url);
      const text = await textOf(response);
      t.match(JSON.parse(text), { error: "platform_unavailable" });
      if (url) t.notMatch(text, url);
    }
    t.equal(otherServer.connections(), 0);
  });

  t.test("a download passes on only the platform's bytes, type and length", async (t) => {
    const TYPES: [string, string][] = [
      ["text/html; charset=utf-8", "text/html; charset=utf-8"],
      ["text/plain\r\nset-cookie: a=b", "application/octet-stream"],
      ["nonsense", "application/octet-stream"],
      ["té/xt", "application/octet-stream"],
    ];
    platform.file = (response) => {
      response.setHeader("set-cookie", "a=b");
      response.setHeader("x-fb-trace", "abc");
      response.end("the file");
    };
    for (const [mime_type, type] of TYPES) {
      Object.assign(platform.described, { mime_type });
      const response = await get().answer;
      t.equal(response.headers["content-type"], type);
      t.equal(response.headers["content-length"], "8");
      t.equal(response.headers["set-cookie"], undefined);
      t.equal(response.headers["x-fb-trace"], undefined);
      t.equal(await textOf(response), "the file");
    }
    platform.file = (response, { headers }) => {
      t.equal(headers["accept-encoding"], "identity");
      response.setHeader("content-encoding", "gzip");
      response.end(gzipSync("the file, compressed without request"));
    };
    t.equal(await textOf(await get().answer), "the file, compressed without request");
    platform.file = (response) => void response.end();
    t.equal(await textOf(await get().answer), "", "an empty file");
  });

  t.test("a refusal during an upload reaches the caller and its connection stays usable", async (t) => {
    platform.upload = (response, incoming) => {
      incoming.once("data", () => {
        response.writeHead(400, { "content-type": "application/json" });
        response.end('{"error":{"code":131053,"message":"Media upload error"}}');
        incoming.resume();
      });
    };
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const length = { "content-length": String(5 * MIB) };
    const sockets = new Set<unknown>();
    for (const extra of [{}, length, {}]) {
      const { outgoing, answer } = openRequest("POST", extra, agent);
      writeBytes(outgoing, 5 * MIB);
      const response = await answer;
      t.equal(response.statusCode, 400);
      sockets.add(outgoing.socket);
      t.match(JSON.parse(await textOf(response)), { error: "platform_invalid_request" });
    }
    t.equal(sockets.size, 1);
    agent.destroy();
  });

  t.test("the log contains no token and no platform URL", async (t) => {
    const text = JSON.stringify(api.lines);
    t.notMatch(text, TOKEN);
    t.notMatch(text, "secret-ticket");
    t.notOk(api.lines.some(({ event, status }) => event === "http.request" && status === 500));
  });
});
