import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import t, { type Test } from "tap";
import type { Resolver } from "../../src/delivery/resolver.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import { startBackend, startTcpBackend } from "../fixtures/events/backends.ts";
import { hasten, tellOne, times, untilDelivery } from "../fixtures/events/deliveries.ts";
import { attemptsOf, configure } from "../fixtures/events/events.ts";
import { type RunningDispatcher, startDispatcher } from "../fixtures/processes/dispatcher.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const MIB = 1_048_576;

/** A new client's event on its way to this address. */
async function sendTo(dispatcher: RunningDispatcher, url: string) {
  const client = await makeTenant(dispatcher);
  await configure(dispatcher, client, { url });
  return { client, id: await tellOne(dispatcher, client) };
}

/** Of every range that no event may go to, also as browsers would understand it. `localhost` stands for all names. */
const DENIED = [
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

t.test("no event leaves for an address that is no server's on the Internet", async (t) => {
  const dispatcher = await startDispatcher(t, { settings: { PRIVATE_DESTINATIONS: "" } });
  let connections = 0;
  const { port } = await listening(
    t,
    createTcpServer((socket) => {
      connections += 1;
      socket.destroy();
    }),
  );
  const urls = DENIED.map((host) => `https://${host}:${port}/hooks`);
  const sent = await Promise.all(urls.map((url) => sendTo(dispatcher, url)));
  for (const [index, { id }] of sent.entries()) {
    const row = await untilDelivery(dispatcher, id, { state: "retrying" });
    const refused = { attempts: 1, last_error: "address not allowed", last_status_code: null };
    t.match(row, refused, DENIED[index] as string);
  }
  t.equal(connections, 0);
});

/** On every address of this machine. */
async function listening(t: Test, server: Server): Promise<{ port: number }> {
  await new Promise<void>((resolve) => server.listen(0, resolve));
  t.teardown(() => void server.close());
  return server.address() as AddressInfo;
}

/** One that events may go to and one that they may not, both on this machine. */
const [ALLOWED, HIDDEN] = ["127.0.0.1", "127.0.0.2"];

/** A server on both, and which of them it was reached at. */
async function startOnBoth(t: Test, listener: RequestListener) {
  const reached: string[] = [];
  const server = createServer(listener);
  server.on("connection", ({ localAddress = "" }) => reached.push(localAddress.replace("::ffff:", "")));
  return { ...(await listening(t, server)), reached };
}

const DEADLINE = 2 * SECOND;
let answers: string[][] = [];
const resolver: Resolver = async () => (answers.shift() ?? []).map((address) => ({ address, family: 4 }));
const dispatcher = await startDispatcher(t, {
  settings: { PRIVATE_DESTINATIONS: `${ALLOWED}/32` },
  resolver,
  deadline: DEADLINE,
});

t.test("a name that turns to another address after its first answer leads nowhere", async (t) => {
  const { port, reached } = await startOnBoth(t, (_request, response) =>
    response.writeHead(503, { connection: "close" }).end(),
  );
  answers = [[ALLOWED], [HIDDEN], [ALLOWED, HIDDEN], [ALLOWED]];
  const { client, id } = await sendTo(dispatcher, `http://name.example:${port}`);
  const ERRORS = ["HTTP 503", "address not allowed", "address not allowed", "HTTP 503"];
  for (const [index, last_error] of ERRORS.entries()) {
    if (index > 0) await hasten(dispatcher, client, id);
    await untilDelivery(dispatcher, id, { attempts: index + 1, state: "retrying", last_error });
  }
  t.same(reached, [ALLOWED, ALLOWED]);
});

t.test("a redirect to a private host is not followed, and is a failure", async (t) => {
  const { port, reached } = await startOnBoth(t, (_request, response) =>
    response.writeHead(307, { location: `http://${HIDDEN}:${port}/` }).end(),
  );
  const { id } = await sendTo(dispatcher, `http://${ALLOWED}:${port}`);
  const row = await untilDelivery(dispatcher, id, { state: "retrying" });
  t.match(row, { attempts: 1, last_error: "redirect", last_status_code: 307 });
  t.same(reached, [ALLOWED]);
});

t.test("a backend that drips its answer is left at the deadline", async (t) => {
  let closed = false;
  const backend = await startTcpBackend(t, (socket) => {
    socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n"));
    const timer = setInterval(() => socket.write("y"), 50);
    socket.on("close", () => {
      clearInterval(timer);
      closed = true;
    });
  });
  const { id } = await sendTo(dispatcher, backend.url);
  const row = await untilDelivery(dispatcher, id, { state: "retrying" });
  t.match(row, { attempts: 1, last_error: "timeout", last_status_code: 200 });
  await until("it is left", () => closed);
});

t.test("of huge answers a little is read and less is kept", async (t) => {
  const [COUNT, SIZE] = [20, 50 * MIB];
  const chunk = Buffer.alloc(65_536, "x");
  let written = 0;
  const backend = await startBackend(t, (request, response) => {
    request.resume();
    response.writeHead(200, { "content-length": String(SIZE) });
    let left = SIZE / chunk.length;
    const more = () => {
      while (left > 0 && !response.destroyed) {
        left -= 1;
        written += chunk.length;
        if (!response.write(chunk)) return void response.once("drain", more);
      }
      response.end();
    };
    more();
  });
  const before = process.memoryUsage().rss;
  const sent = await Promise.all(times(COUNT, () => sendTo(dispatcher, backend.url)));
  for (const { id } of sent) {
    await untilDelivery(dispatcher, id, { state: "delivered", attempts: 1 });
    const [attempt] = await attemptsOf(dispatcher, id);
    t.equal(attempt?.response_excerpt, "x".repeat(1_024));
  }
  const grown = process.memoryUsage().rss - before;
  t.ok(written < (COUNT * SIZE) / 2, `${written / MIB} MiB were written`);
  t.ok(grown < 200 * MIB, `${grown / MIB} MiB more`);
});
