import { createHash, randomBytes } from "node:crypto";
import t from "tap";
import { checkRequestIds } from "../../fixtures/captured-log.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import {
  DEMO_CHAT_TOKEN,
  issueChatToken,
  OTHER_WABA_ID,
  PHONE_NUMBER_ID,
  PLAIN_NUMBER_ID,
  startSandboxWithReceiver,
  WABA_ID,
} from "../../fixtures/sandbox/assets.ts";
import { callSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant, type Tenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const MIB = 1_048_576;
const MAX_FILE_BYTES = 10 * MIB;
const ABSENT = "ch_01k9zv3m5q8x7w2r4t6y0a1b2c";
const PDF = "application/pdf";

type Headers = Record<string, string>;

const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Streams the bytes without content-length. */
const toChunkedStream = (bytes: Buffer) =>
  new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += MIB) controller.enqueue(bytes.subarray(at, at + MIB));
      controller.close();
    },
  });

interface Upload {
  type?: string | undefined;
  bytes: Buffer;
  chunked?: boolean;
  /** Override the credential and the channel. */
  authHeaders?: Headers;
  channelId?: string;
}

/** API calls a client makes for a channel's media. */
async function mediaOf(api: Api, tenant: Tenant, channel: string) {
  const { headers } = await tenant.createKey("messages:send");
  const base = `/api/channels/${channel}`;
  return {
    headers,
    base,
    /** Bypasses api.call because the body is binary. */
    fetch: (id: string, method = "GET") => fetch(`${api.address}${base}/media/${id}`, { method, headers }),
    download: (id: string, query = "") => api.call("GET", `${base}/media/${id}${query}`, { headers }),
    read: (json: unknown) => api.call("POST", `${base}/read`, { headers, json }),
    async upload({ type = PDF, bytes, chunked = false, authHeaders = headers, channelId = channel }: Upload) {
      const body = chunked ? toChunkedStream(bytes) : new Uint8Array(bytes);
      const init = {
        method: "POST",
        headers: { ...authHeaders, "content-type": type },
        body,
        duplex: "half",
      };
      const reply = await fetch(`${api.address}/api/channels/${channelId}/media`, init as RequestInit);
      return { status: reply.status, body: (await reply.json()) as { media_id: string; error: string } };
    },
  };
}

t.test("channel media", async (t) => {
  const sandbox = await startSandboxWithReceiver(t, 1); // a file's URL lasts for minutes and not for three seconds
  const api = await startApi(t, { settings: sandbox.serviceSettings });
  const tenant = await makeTenant(api);
  const channel = await makeChannel(api, tenant, {
    phoneNumberId: PHONE_NUMBER_ID,
    wabaId: WABA_ID,
    token: DEMO_CHAT_TOKEN,
  });
  const media = await mediaOf(api, tenant, channel);
  const calls = async (path: string) => {
    const { body } = await callSandbox(`${sandbox.origin}/_sandbox/requests`);
    return body.data.filter((call: { path: string }) => call.path.includes(path));
  };
  const arm = (fault: object) => callSandbox(`${sandbox.origin}/_sandbox/faults`, { json: fault });

  /** Simulates an inbound message and returns it as the platform sent it. */
  const receiveInbound = async (type: string) => {
    const before = sandbox.received.length;
    await callSandbox(`${sandbox.origin}/_sandbox/inbound`, {
      json: { channel: PHONE_NUMBER_ID, from: "5511988887777", type },
    });
    const webhook = await until("the webhook arrives", () => sandbox.received[before]);
    return webhook.body.entry[0].changes[0].value.messages[0];
  };

  t.test("a large file is uploaded and downloaded byte for byte", async (t) => {
    const bytes = randomBytes(1.5 * MIB);
    for (const chunked of [false, true]) {
      const uploaded = await media.upload({ bytes, chunked });
      t.equal(uploaded.status, 201);
      t.match(uploaded.body.media_id, /^\d+$/);
      const file = await media.fetch(uploaded.body.media_id);
      t.equal(file.status, 200);
      t.equal(hashOf(new Uint8Array(await file.arrayBuffer())), hashOf(bytes));
    }
  });

  t.test(
    "an inbound file has its type and length, and headers that keep browsers from running it",
    async (t) => {
      const { image } = await receiveInbound("image");
      const file = await media.fetch(image.id);
      const bytes = new Uint8Array(await file.arrayBuffer());
      t.equal(hashOf(bytes), image.sha256);
      t.match(Object.fromEntries(file.headers), {
        "content-type": "image/png",
        "content-length": String(bytes.length),
        "content-disposition": "attachment",
        "content-security-policy": "default-src 'none'; sandbox",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
      });
      const head = await media.fetch(image.id, "HEAD");
      t.equal(head.status, 200);
      t.equal(head.headers.get("content-length"), String(bytes.length));
      t.equal(head.headers.get("content-type"), "image/png");
      t.equal(await head.text(), "");
    },
  );

  t.test("an upload keeps the request's content type with its parameters", async (t) => {
    const type = "audio/ogg; codecs=opus";
    const { body } = await media.upload({ type, bytes: Buffer.from("OggS") });
    t.equal((await media.fetch(body.media_id)).headers.get("content-type"), "audio/ogg");
    const [call] = await calls(`${PHONE_NUMBER_ID}/media`);
    t.match(JSON.stringify(call.body), "codecs=opus");
  });

  t.test("a file of 10 MiB is accepted; one byte more gets 413 and never reaches the platform", async (t) => {
    t.equal((await media.upload({ bytes: Buffer.alloc(MAX_FILE_BYTES) })).status, 201);
    t.equal((await media.upload({ bytes: Buffer.alloc(MAX_FILE_BYTES), chunked: true })).status, 201);
    const before = (await calls("/media")).length;
    for (const chunked of [false, true]) {
      const reply = await media.upload({ bytes: Buffer.alloc(MAX_FILE_BYTES + 1), chunked });
      t.equal(reply.status, 413);
      t.equal(reply.body.error, "payload_too_large");
    }
    for (const [wrong, status] of [
      [{ authHeaders: {}, chunked: true }, 401],
      [{ channelId: "ch_1" }, 400],
      [{ channelId: ABSENT, chunked: true }, 404],
      [{ type: "pdf" }, 415],
    ] as const) {
      const upload = async (size: number) =>
        (await media.upload({ bytes: Buffer.alloc(size), ...wrong })).status;
      t.equal(await upload(MAX_FILE_BYTES + 1), 413, "413 takes precedence over other errors");
      t.equal(await upload(1), status);
    }
    t.equal((await calls("/media")).length, before);
  });

  t.test("a file the platform rejects gets 400 with the platform's message", async (t) => {
    for (const [type, message] of [
      ["application/x-sh", /supported types/],
      ["image/webp", /must have 1 to/],
    ] as const) {
      const raw = Buffer.alloc(110_000);
      const headers = { ...media.headers, "content-type": type };
      const reply = await api.call("POST", `${media.base}/media`, { headers, raw });
      t.equal(reply.status, 400);
      t.equal(reply.body.error, "platform_invalid_request");
      t.match(JSON.stringify(reply.body.platform_error), message);
    }
  });

  t.test("a deleted file, or a file of another number, is not found", async (t) => {
    const { media_id } = (await media.upload({ bytes: Buffer.from("x") })).body;
    await callSandbox(`${sandbox.base}/${media_id}`, { method: "DELETE", token: DEMO_CHAT_TOKEN });
    const wideToken = issueChatToken([WABA_ID, OTHER_WABA_ID]);
    const other = await makeChannel(api, tenant, {
      phoneNumberId: PLAIN_NUMBER_ID,
      wabaId: OTHER_WABA_ID,
      token: wideToken,
    });
    const ownMediaId = (await media.upload({ bytes: Buffer.from("x") })).body.media_id;
    for (const reply of [
      await media.download("1999999999999999"),
      await media.download(media_id),
      await (await mediaOf(api, tenant, other)).download(ownMediaId),
    ]) {
      t.equal(reply.status, 404);
      t.match(reply.body, { error: "platform_object_not_found", retryable: false });
      t.equal(reply.headers.get("content-disposition"), null);
    }
  });

  t.test("invalid input gets an error that names the field", async (t) => {
    for (const id of ["x", "1a", "1".repeat(33), "%00", "1%2F2", "-1"]) {
      const reply = await media.download(id);
      t.equal(reply.status, 400, id);
      t.match(reply.body.details, [{ path: "/media_id" }], id);
    }
    t.match((await media.download("1", "?size=2")).body.details, [{ path: "/size" }]);
    const post = (headers: Headers, raw: Buffer, path = `${media.base}/media`) =>
      api.call("POST", path, { headers: { ...media.headers, ...headers }, raw });
    const content = Buffer.from("x");
    const UPLOADS: [string, number, Headers, Buffer][] = [
      ["no type", 415, {}, content],
      ["an incomplete type", 415, { "content-type": "image" }, content],
      ["a wildcard type", 415, { "content-type": "*/*" }, content],
      ["a compressed file", 415, { "content-type": PDF, "content-encoding": "gzip" }, content],
      ["an empty file", 400, { "content-type": PDF }, Buffer.alloc(0)],
    ];
    for (const [name, status, headers, raw] of UPLOADS)
      t.equal((await post(headers, raw)).status, status, name);
    t.equal((await post({ "content-type": PDF }, content, `${media.base}/media?name=x`)).status, 400);
    t.equal((await post({ "content-type": PDF }, content, "/api/channels/ch_1/media")).status, 400);
  });

  t.test("a message is marked as read, with or without a typing indicator", async (t) => {
    const { id } = await receiveInbound("text");
    for (const [typing, shown] of [
      [undefined, undefined],
      [false, undefined],
      [true, { type: "text" }],
    ] as const) {
      t.equal((await media.read({ message_id: id, typing })).status, 204);
      const [call] = await calls(`${PHONE_NUMBER_ID}/messages`);
      const expected = { messaging_product: "whatsapp", status: "read", message_id: id };
      t.same(call.body, shown ? { ...expected, typing_indicator: shown } : expected);
    }
    const unknown = await media.read({ message_id: "wamid.unknown" });
    t.equal(unknown.status, 400);
    t.match(unknown.body, { error: "platform_invalid_request", platform_error: { code: 131009 } });
    const before = (await calls("/messages")).length;
    for (const [json, path] of [
      [{}, "/message_id"],
      [{ message_id: "" }, "/message_id"],
      [{ message_id: 1 }, "/message_id"],
      [{ message_id: "a b" }, "/message_id"],
      [{ message_id: "x".repeat(513) }, "/message_id"],
      [{ message_id: id, typing: "yes" }, "/typing"],
      [{ message_id: id, typing: null }, "/typing"],
      [{ message_id: id, status: "read" }, "/status"],
    ] as const) {
      const reply = await media.read(json);
      t.equal(reply.status, 400);
      t.equal(reply.body.error, "validation_failed");
      t.match(reply.body.details, [{ path }]);
    }
    t.equal((await calls("/messages")).length, before);
  });

  /** Calls all three media routes of a channel. */
  const callAllRoutes = async (caller: Tenant, id: string) => {
    const { download, read, headers, base } = await mediaOf(api, caller, id);
    const upload = { headers: { ...headers, "content-type": PDF }, raw: Buffer.from("x") };
    return [
      await download("1"),
      await read({ message_id: "wamid.x" }),
      await api.call("POST", `${base}/media`, upload),
    ];
  };

  t.test(
    "other clients, other platforms and disconnected channels are refused without calling the platform",
    async (t) => {
      const before = (await calls("")).length;
      const otherTenant = await makeTenant(api);
      const [disconnected, disconnectedPage] = [
        await makeChannel(api, tenant),
        await makeChannel(api, tenant, { platform: "photoapp" }),
      ];
      for (const id of [disconnected, disconnectedPage])
        await api.db.query("update channels set status = 'disconnected', token_sealed = null where id = $1", [
          id,
        ]);
      const needsReauth = await makeChannel(api, tenant);
      await api.db.query("update channels set status = 'needs_reauth' where id = $1", [needsReauth]);
      const CASES: [Tenant, string, number, string][] = [
        [otherTenant, channel, 404, "not_found"],
        [tenant, ABSENT, 404, "not_found"],
        [tenant, disconnected, 409, "channel_disconnected"],
        [tenant, needsReauth, 409, "channel_disconnected"],
        [tenant, await makeChannel(api, tenant, { platform: "photoapp" }), 400, "validation_failed"],
        [tenant, disconnectedPage, 400, "validation_failed"],
        [tenant, await makeChannel(api, tenant, { platform: "socialapp" }), 400, "validation_failed"],
      ];
      for (const [caller, id, status, error] of CASES)
        for (const reply of await callAllRoutes(caller, id)) {
          t.equal(reply.status, status, error);
          t.equal(reply.body.error, error);
          if (status === 400) t.match(reply.body.details, [{ path: "/channel_id" }]);
        }
      t.equal((await calls("")).length, before);
    },
  );

  t.test("each platform refusal maps to an API error", async (t) => {
    const FAULTS: [object, number, string][] = [
      [{ kind: "error", code: 200 }, 403, "platform_permission_denied"],
      [{ kind: "error", code: 368 }, 403, "platform_policy_blocked"],
      [{ kind: "error", code: 100 }, 400, "platform_invalid_request"],
      [{ kind: "error", code: 130429 }, 429, "platform_rate_limited"],
    ];
    for (const [fault, status, error] of FAULTS) {
      await arm({ ...fault, times: 3 });
      for (const reply of await callAllRoutes(tenant, channel)) {
        t.equal(reply.status, status);
        t.equal(reply.body.error, error);
        t.equal(reply.headers.has("retry-after"), status === 429);
      }
    }
    await arm({ kind: "html", match: { method: "POST" } });
    t.equal((await media.read({ message_id: "wamid.x" })).body.error, "platform_unavailable");
  });

  t.test("a dead token disconnects the channel and records one event", async (t) => {
    const connection = { phoneNumberId: PHONE_NUMBER_ID, wabaId: WABA_ID, token: DEMO_CHAT_TOKEN };
    for (const call of [0, 1, 2]) {
      await makeChannel(api, tenant, connection);
      await arm({ kind: "error", code: 190, match: { method: call === 0 ? "GET" : "POST" } });
      const { download, read, upload } = media;
      const reply = await [
        () => download("1"),
        () => read({ message_id: "wamid.x" }),
        () => upload({ bytes: Buffer.from("x") }),
      ][call]?.();
      t.match(reply, { status: 409, body: { error: "channel_disconnected" } });
      const rows = await api.db.query("select status from channels where id = $1", [channel]);
      t.same(rows, [{ status: "needs_reauth" }]);
      const events = await api.db.query(
        "select payload from events where client_id = $1 and type = 'channel.disconnected' and channel_id = $2",
        [tenant.id, channel],
      );
      t.equal(events.length, call + 1);
      t.match(JSON.stringify(events), "token_dead");
    }
    const marked = api.lines.filter(({ event }) => event === "channel.needs_reauth");
    t.equal(marked.length, 3);
    t.match(marked[0], { level: "warn", client: tenant.id, channel, code: 190 });
  });

  t.test("the log has an entry per request and no token or platform URL", async (t) => {
    const text = JSON.stringify(api.lines);
    t.notMatch(text, DEMO_CHAT_TOKEN);
    t.notMatch(text, "ticket=");
    t.notMatch(text, "appsecret_proof");
    const lines = api.lines.filter(({ route }) => String(route).endsWith("/media/{media_id}"));
    t.ok(lines.some(({ status, error }) => status === 200 && error === undefined));
    checkRequestIds(t, api.lines);
  });
});
