import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import t, { type Test } from "tap";
import type { Resolver } from "../../src/delivery/ssrf-guard.ts";
import { MINUTE, SECOND } from "../../src/runtime/durations.ts";
import { startBackend, startTcpBackend } from "../fixtures/events/backends.ts";
import { makeDeliveriesDue, queueEvent, times, untilDelivery } from "../fixtures/events/deliveries.ts";
import { configureWebhook, readAttempts } from "../fixtures/events/events.ts";
import { type RunningDispatcher, startDispatcher } from "../fixtures/processes/dispatcher.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const MIB = 1_048_576;

/** Queues an event of a new client with this webhook_url. */
async function queueEventTo(dispatcher: RunningDispatcher, url: string) {
  const client = await makeTenant(dispatcher);
  await configureWebhook(dispatcher, client, { url });
  return { client, id: await queueEvent(dispatcher, client) };
}

/** Hosts in every denied range, in every notation that URLs accept. `localhost` stands for all names. */
const DENIED_HOSTS = [
  ...["10.0.0.1", "172.16.0.1", "172.31.255.254", "192.168.1.1", "3232235777", "0xA.1"],
  ...["0.0.0.0", "0", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1."],
  ...[
    "169.254.169.254",
    "0xa9fea9fe",
    "100.64.0.1",
    "192.0.0.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.19.255.254",
  ],
  ...[
    "192.0.2.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
  ],
  ...["[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:8.8.8.8]"],
  ...["[::127.0.0.1]", "[64:ff9b::7f00:1]", "[fe80::1]", "[fc00::1]", "[FD00::1]", "[ff02::1]", "[100::1]"],
  ...["[2001::1]", "[2001:db8::1]", "[2002:7f00:1::]", "[3fff::1]", "[4000::1]"],
  ...["localhost", "LOCALHOST.", "a.localhost", "①②⑦.⓪.⓪.①", "%31%32%37.0.0.1"],
];

t.test("no delivery connects to an address that is not public", async (t) => {
  const dispatcher = await startDispatcher(t, { settings: { PRIVATE_DESTINATIONS: "" } });
  let connections = 0;
  const { port } = await listenOnAllAddresses(
    t,
    createTcpServer((socket) => {
      connections += 1;
      socket.destroy();
    }),
  );
  const urls = DENIED_HOSTS.map((host) => `https://${host}:${port}/hooks`);
  const sent = await Promise.all(urls.map((url) => queueEventTo(dispatcher, url)));
  for (const [index, { id }] of sent.entries()) {
    const row = await untilDelivery(dispatcher, id, { state: "retrying" });
    // The next attempt, after 5 s, may have ended as well.
    const refused = { last_error: "address not allowed", last_status_code: null };
    t.match(row, refused, DENIED_HOSTS[index] as string);
  }
  t.equal(connections, 0);
});

/** Listens on every address of this machine. */
async function listenOnAllAddresses(t: Test, server: Server): Promise<{ port: number }> {
  await new Promise<void>((resolve) => server.listen(0, resolve));
  t.teardown(() => void server.close());
  return server.address() as AddressInfo;
}

/** An allowed and a denied address of this machine. */
const [ALLOWED_ADDRESS, PRIVATE_ADDRESS] = ["127.0.0.1", "127.0.0.2"];

/** A server on both addresses, and the address of each connection. */
async function startOnBothAddresses(t: Test, listener: RequestListener) {
  const reachedAddresses: string[] = [];
  const server = createServer(listener);
  server.on("connection", ({ localAddress = "" }) =>
    reachedAddresses.push(localAddress.replace("::ffff:", "")),
  );
  return { ...(await listenOnAllAddresses(t, server)), reachedAddresses };
}

/** Longer than a slow machine needs for any answer. */
const PATIENT_DEADLINE_MS = 10 * MINUTE;
/** Longer than a slow machine needs for the headers of an answer. */
const DEADLINE_MS = 5 * SECOND;
let dnsAnswers: string[][] = [];
const resolver: Resolver = async () => (dnsAnswers.shift() ?? []).map((address) => ({ address, family: 4 }));
const dispatcher = await startDispatcher(t, {
  settings: { PRIVATE_DESTINATIONS: `${ALLOWED_ADDRESS}/32` },
  resolver,
  deadline: PATIENT_DEADLINE_MS,
});

t.test("a name that later resolves to a denied address is refused", async (t) => {
  const { port, reachedAddresses } = await startOnBothAddresses(t, (_request, response) =>
    response.writeHead(503, { connection: "close" }).end(),
  );
  dnsAnswers = [[ALLOWED_ADDRESS], [PRIVATE_ADDRESS], [ALLOWED_ADDRESS, PRIVATE_ADDRESS], [ALLOWED_ADDRESS]];
  const { client, id } = await queueEventTo(dispatcher, `http://name.example:${port}`);
  const ERRORS = ["HTTP 503", "address not allowed", "address not allowed", "HTTP 503"];
  for (const [index, last_error] of ERRORS.entries()) {
    if (index > 0) await makeDeliveriesDue(dispatcher, client, id);
    await untilDelivery(dispatcher, id, { attempts: index + 1, state: "retrying", last_error });
  }
  t.same(reachedAddresses, [ALLOWED_ADDRESS, ALLOWED_ADDRESS]);
});

t.test("a redirect to a private host is not followed and counts as a failure", async (t) => {
  const { port, reachedAddresses } = await startOnBothAddresses(t, (_request, response) =>
    response.writeHead(307, { location: `http://${PRIVATE_ADDRESS}:${port}/` }).end(),
  );
  const { id } = await queueEventTo(dispatcher, `http://${ALLOWED_ADDRESS}:${port}`);
  const row = await untilDelivery(dispatcher, id, { state: "retrying" });
  t.match(row, { attempts: 1, last_error: "redirect", last_status_code: 307 });
  t.same(reachedAddresses, [ALLOWED_ADDRESS]);
});

t.test("a backend that drips its answer is disconnected at the deadline", async (t) => {
  const dispatcher = await startDispatcher(t, { deadline: DEADLINE_MS });
  let closed = false;
  const backend = await startTcpBackend(t, (socket) => {
    socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n"));
    const timer = setInterval(() => socket.write("y"), 50);
    socket.on("close", () => {
      clearInterval(timer);
      closed = true;
    });
  });
  const { id } = await queueEventTo(dispatcher, backend.url);
  const row = await untilDelivery(dispatcher, id, { state: "retrying" });
  t.match(row, { attempts: 1, last_error: "timeout", last_status_code: 200 });
  await until("the connection is closed", () => closed);
});

t.test("only the beginning of a huge answer is read and stored", async (t) => {
  const [COUNT, SIZE_BYTES] = [20, 50 * MIB];
  const chunk = Buffer.alloc(65_536, "x");
  let writtenBytes = 0;
  const backend = await startBackend(t, (request, response) => {
    request.resume();
    response.writeHead(200, { "content-length": String(SIZE_BYTES) });
    let chunksLeft = SIZE_BYTES / chunk.length;
    const writeMore = () => {
      while (chunksLeft > 0 && !response.destroyed) {
        chunksLeft -= 1;
        writtenBytes += chunk.length;
        if (!response.write(chunk)) return void response.once("drain", writeMore);
      }
      response.end();
    };
    writeMore();
  });
  const before = process.memoryUsage().rss;
  const sent = await Promise.all(times(COUNT, () => queueEventTo(dispatcher, backend.url)));
  for (const { id } of sent) {
    await untilDelivery(dispatcher, id, { state: "delivered", attempts: 1 });
    const [attempt] = await readAttempts(dispatcher, id);
    t.equal(attempt?.response_excerpt, "x".repeat(1_024));
  }
  const grownBytes = process.memoryUsage().rss - before;
  t.ok(writtenBytes < (COUNT * SIZE_BYTES) / 2, `${writtenBytes / MIB} MiB were written`);
  t.ok(grownBytes < 200 * MIB, `${grownBytes / MIB} MiB more`);
});
