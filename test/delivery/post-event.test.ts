import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Test } from "tap";
import t from "tap";
import { createEventPoster, type PosterParts, toErrorText } from "../../src/delivery/post-event.ts";
import { createDestinations, createResolver, type Resolver } from "../../src/delivery/ssrf-guard.ts";
import { checkAddress } from "../../src/delivery/webhook-address.ts";
import { cidrs } from "../../src/runtime/config/setting-kinds.ts";
import { MINUTE, SECOND } from "../../src/runtime/durations.ts";
import { startBackend, startTcpBackend } from "../fixtures/events/backends.ts";
import { createSelfSignedCertificate } from "../fixtures/servers/certificate.ts";
import { makeTempFolder } from "../fixtures/servers/folders.ts";
import { until } from "../fixtures/until.ts";

const MIB = 1_048_576;
const PAYLOAD = '{"id":"evt_1","data":{"text":"ü — 12345678901234567890"}}';
const TOKEN = "a-token-of-the-client-1234";

const among = (ranges: string) => createDestinations(cidrs.parse(ranges) ?? []);
const LOOPBACK = among("127.0.0.0/8,::1/128");
const NOWHERE_PRIVATE = among("");

/** Returns the post function of a new poster. */
function createPost(t: Test, parts: Partial<PosterParts> = {}) {
  const poster = createEventPoster({
    destinations: LOOPBACK,
    resolver: createResolver({ destinations: LOOPBACK }),
    ...parts,
  });
  t.teardown(() => poster.close());
  const headers = { "content-type": "application/json", "x-webhook-token": TOKEN };
  return (url: string, signal?: AbortSignal) =>
    poster.post({ url, headers, body: PAYLOAD, token: TOKEN }, signal ? { signal } : {});
}

const resolveTo =
  (...answers: string[][]): Resolver =>
  async () =>
    (answers.length > 1 ? (answers.shift() as string[]) : (answers[0] as string[])).map((address) => ({
      address,
      family: address.includes(":") ? 6 : 4,
    }));

const bodyOf = async (request: IncomingMessage) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

const answerWith = (status: number, headers: Record<string, string> = {}, body = "") =>
  (async (request: IncomingMessage, response: ServerResponse) => {
    await bodyOf(request);
    response.writeHead(status, headers).end(body);
  }) as (request: IncomingMessage, response: ServerResponse) => void;

t.test("an event arrives with the posted headers and body", async (t) => {
  let received:
    | { method?: string; url?: string; headers: IncomingMessage["headers"]; body: string }
    | undefined;
  const backend = await startBackend(t, async (request, response) => {
    received = {
      method: request.method as string,
      url: request.url as string,
      headers: request.headers,
      body: await bodyOf(request),
    };
    response.writeHead(201, { "retry-after": "7" }).end("thanks");
  });
  const posted = await createPost(t)(`${backend.url}/in/chat/receiveMessage`);
  t.match(posted, { outcome: "delivered", statusCode: 201, error: null, excerpt: "thanks", retryAfter: "7" });
  t.ok(Number.isInteger(posted.durationMs) && posted.durationMs >= 0);
  const { connection, ...headers } = received?.headers ?? {};
  t.same(headers, {
    host: `127.0.0.1:${backend.port}`,
    "content-type": "application/json",
    "x-webhook-token": TOKEN,
    "content-length": String(Buffer.byteLength(PAYLOAD)),
  });
  t.match(received, { method: "POST", url: "/in/chat/receiveMessage", body: PAYLOAD });
});

t.test("only a 2xx counts as delivered", async (t) => {
  const CASES: [status: number, outcome: string, error: string | null][] = [
    [200, "delivered", null],
    [204, "delivered", null],
    [299, "delivered", null],
    [300, "refused", "redirect"],
    [304, "refused", "redirect"],
    [400, "refused", "HTTP 400"],
    [410, "refused", "HTTP 410"],
    [503, "refused", "HTTP 503"],
    [599, "refused", "HTTP 599"],
  ];
  const backend = await startBackend(t, (request, response) =>
    answerWith(Number(request.url?.slice(1)), { "retry-after": "120" })(request, response),
  );
  const post = createPost(t, { connections: 1 });
  for (const [statusCode, outcome, error] of CASES)
    t.match(
      await post(`${backend.url}/${statusCode}`),
      { outcome, statusCode, error, excerpt: null, retryAfter: "120" },
      `${statusCode}`,
    );
  t.equal(backend.connections(), 1, "all over one connection");
});

t.test("a redirect is not followed", async (t) => {
  const hidden = await startBackend(t, answerWith(200));
  for (const status of [301, 302, 303, 307, 308]) {
    const backend = await startBackend(t, answerWith(status, { location: hidden.url }));
    t.match(await createPost(t)(backend.url), { outcome: "refused", statusCode: status, error: "redirect" });
  }
  t.equal(hidden.connections(), 0);
});

t.test("the poster does not connect to an address that is not allowed", async (t) => {
  const backend = await startBackend(t, answerWith(200));
  const { port } = backend;
  const refused = { outcome: "failed", statusCode: null, error: "address not allowed", excerpt: null };
  for (const host of ["127.0.0.1", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]", "localhost"])
    for (const scheme of ["http", "https"])
      t.match(
        await createPost(t, { destinations: NOWHERE_PRIVATE })(`${scheme}://${host}:${port}`),
        refused,
        `${scheme}://${host}`,
      );
  const elsewhere = { destinations: among("10.0.0.0/8") };
  t.match(await createPost(t, elsewhere)(backend.url), refused, "only another range is allowed");
  t.match(await createPost(t, elsewhere)("http://8.8.8.8"), refused, "http to a public address");
  const toPublic = { ...elsewhere, resolver: resolveTo(["8.8.8.8"]) };
  t.match(
    await createPost(t, toPublic)("http://name.example"),
    refused,
    "http to a name with a public address",
  );
  for (const answer of [
    ["127.0.0.1"],
    ["8.8.8.8", "127.0.0.1"],
    ["::ffff:127.0.0.1"],
    ["::1"],
    ["10.0.0.1"],
  ]) {
    const parts = { destinations: NOWHERE_PRIVATE, resolver: resolveTo(answer) };
    t.match(await createPost(t, parts)(`https://name.example:${port}`), refused, answer.join());
  }
  t.equal(backend.connections(), 0);
});

t.test("a name that was public when configured and now resolves to loopback is refused", async (t) => {
  const backend = await startBackend(t, answerWith(200));
  const resolver = resolveTo(["8.8.8.8"], ["127.0.0.1"]);
  const url = `https://name.example:${backend.port}`;
  const rules = { destinations: NOWHERE_PRIVATE, publicUrl: "https://herald.example", resolver };
  t.match(await checkAddress(url, rules), { outcome: "accepted", url });
  const posted = await createPost(t, { destinations: NOWHERE_PRIVATE, resolver })(url);
  t.match(posted, { outcome: "failed", error: "address not allowed" });
  t.equal(backend.connections(), 0);
});

t.test("the connected peer's address is checked before anything is sent", async (t) => {
  const received: string[] = [];
  const backend = await startTcpBackend(t, (socket) => socket.on("data", (data) => received.push(`${data}`)));
  const peers: [string, string][] = [];
  const destinations = {
    ...LOOPBACK,
    isAllowedPeer: (address: string, scheme: string) => {
      peers.push([scheme, address]);
      return false;
    },
  };
  const posted = await createPost(t, { destinations })(backend.url);
  t.match(posted, { outcome: "failed", error: "address not allowed" });
  t.same(peers, [["http:", "127.0.0.1"]]);
  t.same(received, []);
});

t.test("a name is resolved and all its addresses are tried", async (t) => {
  const backend = await startBackend(t, answerWith(200));
  t.match(await createPost(t)(`http://localhost:${backend.port}`), { outcome: "delivered" });
  const resolver = resolveTo(["127.0.0.2", "127.0.0.1"]);
  const posted = await createPost(t, { resolver })(`http://name.example:${backend.port}`);
  t.match(posted, { outcome: "delivered" });
});

const hanging: Record<string, (socket: Socket) => void> = {
  "never answers": () => {},
  "drips its headers": (socket) => drip(socket, "HTTP/1.1 200 OK\r\nx: ", "y"),
  "drips its body": (socket) => drip(socket, "HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n", "y"),
  "drips an endless body": (socket) =>
    drip(socket, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "1\r\ny\r\n"),
  "drips informational answers": (socket) => drip(socket, "", "HTTP/1.1 103 Early Hints\r\n\r\n"),
};

function drip(socket: Socket, first: string, then: string): void {
  socket.write(first);
  const timer = setInterval(() => socket.write(then), 20);
  socket.on("close", () => clearInterval(timer));
}

t.test("the deadline covers the whole attempt", async (t) => {
  const deadline = 3 * SECOND; // the head of an answer arrives within it, however busy the machine is
  const resolver: Resolver = () => new Promise(() => {});
  const resolving = createPost(t, { deadline, resolver })("http://name.example");
  const attempts = Object.entries(hanging).map(async ([what, onSocket]) => {
    const backend = await startTcpBackend(t, (socket) => socket.once("data", () => onSocket(socket)));
    return { what, posted: await createPost(t, { deadline })(backend.url) };
  });
  for (const { what, posted } of await Promise.all(attempts)) {
    t.match(posted, { outcome: "failed", error: "timeout" }, what);
    t.equal(posted.statusCode, what.includes("body") ? 200 : null, what);
    t.ok(posted.durationMs >= deadline - 5 && posted.durationMs < MINUTE, `${posted.durationMs} ms`);
  }
  const unresolved = await resolving;
  t.match(unresolved, { outcome: "failed", statusCode: null, error: "timeout" }, "name resolution hangs");
});

t.test("a refusal counts even when the rest of the answer never comes", async (t) => {
  // With the head come the first bytes of the body: a busy machine may send no further ones before the deadline.
  const head = "HTTP/1.1 410 Gone\r\ncontent-length: 9999\r\n\r\nyyy";
  const backend = await startTcpBackend(t, (socket) => socket.once("data", () => drip(socket, head, "y")));
  const posted = await createPost(t, { deadline: 3 * SECOND })(backend.url);
  t.match(posted, { outcome: "refused", statusCode: 410, error: "HTTP 410", excerpt: /^y+$/ });
});

t.test("an informational answer is skipped", async (t) => {
  const backend = await startBackend(t, (request, response) => {
    response.writeEarlyHints({ link: "</a>; rel=preload" });
    answerWith(200)(request, response);
  });
  t.match(await createPost(t)(backend.url), { outcome: "delivered", statusCode: 200 });
});

t.test("only about 64 KiB of a huge answer are read, with flat memory", async (t) => {
  let written = 0;
  const chunk = Buffer.alloc(65_536, "x");
  const backend = await startBackend(t, async (request, response) => {
    await bodyOf(request);
    response.writeHead(200, { "content-length": String(50 * MIB) });
    const more = () => {
      while (written < 50 * MIB) {
        written += chunk.length;
        if (!response.write(chunk)) return void response.once("drain", more);
      }
      response.end();
    };
    more();
  });
  const before = process.memoryUsage().rss;
  const posted = await createPost(t)(backend.url);
  t.match(posted, { outcome: "delivered", statusCode: 200, error: null });
  t.equal(posted.excerpt, "x".repeat(1_024));
  t.ok(written < 20 * MIB, `${written} bytes were written`);
  t.ok(process.memoryUsage().rss - before < 45 * MIB);
});

t.test("an answer of exactly 64 KiB is read completely", async (t) => {
  const backend = await startBackend(t, answerWith(200, {}, "x".repeat(65_536)));
  const post = createPost(t, { connections: 1 });
  for (const _ of [1, 2]) t.match(await post(backend.url), { outcome: "delivered" });
  t.equal(backend.connections(), 1, "the connection is reused");
});

t.test("a failed connection has a short stable error text", async (t) => {
  const gone = await startTcpBackend(t, () => {});
  const closing = await startTcpBackend(t, (socket) => socket.destroy());
  const cut = await startTcpBackend(t, (socket) =>
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nonly this")),
  );
  const garbage = await startTcpBackend(t, (socket) => socket.end("220 mail.example ESMTP\r\n"));
  const overflow = await startTcpBackend(t, (socket) =>
    socket.end(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(100_000)}\r\n\r\n`),
  );
  const unknown: Resolver = async () => {
    throw Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" });
  };
  const post = createPost(t);
  t.match(await post("http://127.0.0.1:1"), { outcome: "failed", error: "connection refused" });
  t.match(await post(closing.url), { outcome: "failed", statusCode: null, error: "connection closed" });
  t.match(await post(cut.url), {
    outcome: "failed",
    statusCode: 200,
    error: "connection closed",
    excerpt: "only this",
  });
  t.match(await post(garbage.url), { outcome: "failed", error: "not an HTTP answer" });
  t.match(await post(overflow.url), { outcome: "failed", error: "not an HTTP answer" });
  t.match(await post(gone.url.replace("http:", "https:"), AbortSignal.timeout(200)), { error: "aborted" });
  t.match(await createPost(t, { resolver: unknown })("http://name.example"), { error: "host not found" });
  t.match(await createPost(t, { resolver: resolveTo([]) })("http://name.example"), {
    error: "host not found",
  });
});

t.test("an untrusted certificate is rejected", async (t) => {
  const { cert, key } = createSelfSignedCertificate(makeTempFolder(t));
  const received: string[] = [];
  const server = createHttpsServer(
    { cert: readFileSync(cert), key: readFileSync(key) },
    (request, response) => {
      received.push(request.url as string);
      response.end();
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => void server.close());
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.match(await createPost(t)(url), { outcome: "failed", error: "certificate not valid" });
  t.same(received, []);
  const plain = await startBackend(t, answerWith(200));
  const posted = await createPost(t)(plain.url.replace("http:", "https:"));
  t.match(posted, { outcome: "failed", error: "TLS failed" });
});

t.test("each error code has its error text", async (t) => {
  const coded = (code: string) => Object.assign(new Error("secret detail"), { code });
  const CASES: [unknown, string][] = [
    [coded("ECONNREFUSED"), "connection refused"],
    [new AggregateError([coded("ECONNREFUSED"), coded("ENETUNREACH")]), "connection refused"],
    [new Error("x", { cause: coded("ECONNRESET") }), "connection closed"],
    [coded("EAI_AGAIN"), "host not found"],
    [coded("ETIMEDOUT"), "timeout"],
    [coded("UND_ERR_CONNECT_TIMEOUT"), "timeout"],
    [coded("UND_ERR_SOCKET"), "connection closed"],
    [coded("EHOSTUNREACH"), "host not reachable"],
    [coded("CERT_HAS_EXPIRED"), "certificate not valid"],
    [coded("DEPTH_ZERO_SELF_SIGNED_CERT"), "certificate not valid"],
    [coded("UNABLE_TO_VERIFY_LEAF_SIGNATURE"), "certificate not valid"],
    [coded("ERR_TLS_CERT_ALTNAME_INVALID"), "certificate not valid"],
    [coded("EPROTO"), "TLS failed"],
    [coded("ERR_SSL_WRONG_VERSION_NUMBER"), "TLS failed"],
    [coded("HPE_INVALID_CONSTANT"), "not an HTTP answer"],
    [coded("WHATEVER"), "connection failed"],
    [new Error("secret detail"), "connection failed"],
    [undefined, "connection failed"],
  ];
  for (const [error, word] of CASES) t.equal(toErrorText(error), word, String(word));
});

t.test("a request is not repeated when a reused connection breaks", async (t) => {
  let requests = 0;
  const backend = await startTcpBackend(t, (socket) =>
    socket.on("data", () => {
      requests += 1;
      if (requests === 1) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
      else socket.destroy();
    }),
  );
  const post = createPost(t, { connections: 1 });
  t.match(await post(backend.url), { outcome: "delivered" });
  t.match(await post(backend.url), { outcome: "failed", error: "connection closed" });
  t.equal(requests, 2);
  t.equal(backend.connections(), 1);
});

t.test("a connection that was closed while idle is replaced", async (t) => {
  const sockets: Socket[] = [];
  const backend = await startTcpBackend(t, (socket) => {
    sockets.push(socket);
    socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
  });
  const post = createPost(t, { connections: 1 });
  t.match(await post(backend.url), { outcome: "delivered" });
  sockets[0]?.end();
  await until("the connection is closed", () => sockets[0]?.closed);
  t.match(await post(backend.url), { outcome: "delivered" });
  t.equal(backend.connections(), 2);
});

t.test("the number of connections to one origin is limited", async (t) => {
  let [now, maxOpen] = [0, 0];
  const backend = await startBackend(t, async (request, response) => {
    now += 1;
    maxOpen = Math.max(maxOpen, now);
    await bodyOf(request);
    setTimeout(() => {
      now -= 1;
      response.end();
    }, 30);
  });
  const post = createPost(t, { connections: 2 });
  const posted = await Promise.all([1, 2, 3, 4, 5, 6].map(() => post(backend.url)));
  for (const { outcome } of posted) t.equal(outcome, "delivered");
  t.equal(maxOpen, 2);
  t.equal(backend.connections(), 2);
});

t.test("an aborted post ends immediately", async (t) => {
  const backend = await startTcpBackend(t, () => {});
  const post = createPost(t);
  const controller = new AbortController();
  const posted = post(backend.url, controller.signal);
  await until("the post is connected", () => backend.connections() === 1);
  controller.abort();
  t.match(await posted, { outcome: "failed", statusCode: null, error: "aborted" });
  t.match(
    await post(backend.url, controller.signal),
    { outcome: "failed", error: "aborted" },
    "aborted before it began",
  );
  t.equal(backend.connections(), 1);
});

t.test("the excerpt is text that Postgres accepts", async (t) => {
  const CASES: [what: string, answer: Buffer, excerpt: string | null][] = [
    ["nothing", Buffer.alloc(0), null],
    ["text", Buffer.from("Grüße 👋"), "Grüße 👋"],
    ["U+0000", Buffer.from("a\u0000b"), "a\ufffdb"],
    ["invalid UTF-8", Buffer.from([0x61, 0xff, 0xfe, 0x62]), "a\ufffd\ufffdb"],
    ["half a surrogate pair", Buffer.from([0xed, 0xa0, 0x80]), "\ufffd\ufffd\ufffd"],
    ["1,024 bytes", Buffer.from("x".repeat(1_024)), "x".repeat(1_024)],
    ["1,025 bytes", Buffer.from("x".repeat(1_025)), "x".repeat(1_024)],
    ["a character across the end", Buffer.from(`${"x".repeat(1_023)}ü`), "x".repeat(1_023)],
    ["the token", Buffer.from(`got ${TOKEN}, thanks`), "got [token], thanks"],
    ["the token across the end", Buffer.from("x".repeat(1_000) + TOKEN), `${"x".repeat(1_000)}[token]`],
  ];
  const backend = await startBackend(t, async (request, response) => {
    await bodyOf(request);
    const [, answer] = CASES[Number(request.url?.slice(1))] as (typeof CASES)[number];
    // Write the first bytes one by one: the excerpt must not depend on how chunks arrive.
    for (const byte of answer.subarray(0, 8)) response.write(Buffer.of(byte));
    response.end(answer.subarray(8));
  });
  const post = createPost(t);
  for (const [index, [what, , excerpt]] of CASES.entries()) {
    const posted = await post(`${backend.url}/${index}`);
    t.equal(posted.excerpt, excerpt, what);
    t.ok(Buffer.byteLength(posted.excerpt ?? "") <= 1_024);
  }
});
