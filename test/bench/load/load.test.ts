import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { sendClosedLoop } from "./closed-loop.ts";
import { buildRequest } from "./connection.ts";
import { sendOpenLoop } from "./open-loop.ts";

async function startServer(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Answers with the status after the body has arrived, and records the bodies. */
const recordBodies =
  (status: number, bodies: string[] = []): RequestListener =>
  async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    bodies.push(body);
    response.writeHead(status, { "content-length": "2" });
    response.write("o");
    setTimeout(() => response.end("k"), 5);
  };

const REQUESTS = Array.from({ length: 20 }, (_, index) => buildRequest("/", { a: "b" }, `é${index}`));
const BODIES = REQUESTS.map((_, index) => `é${index}`).sort();

t.test("both loops send every request once and wait for the complete answers", async (t) => {
  const bodies: string[] = [];
  const target = { origin: await startServer(t, recordBodies(202, bodies)), status: 202 };
  const { seconds, p50, p99 } = await sendClosedLoop(target, 4, REQUESTS);
  t.same(bodies.splice(0).sort(), BODIES);
  t.ok(seconds > 0.02 && p50 >= 4 && p99 >= p50);
  const open = await sendOpenLoop(target, 1_000, REQUESTS);
  t.same(bodies.sort(), BODIES);
  t.ok(open.p50 >= 4);
});

t.test("an unexpected status fails the load", async (t) => {
  const target = { origin: await startServer(t, recordBodies(500)), status: 202 };
  await t.rejects(sendClosedLoop(target, 2, REQUESTS), /answered HTTP\/1.1 500/);
  await t.rejects(sendOpenLoop(target, 1_000, REQUESTS), /answered HTTP\/1.1 500/);
});

t.test("a server that closes its connections fails the load", async (t) => {
  const target = { origin: await startServer(t, (request) => request.socket.destroy()), status: 202 };
  await t.rejects(sendClosedLoop(target, 2, REQUESTS), /closed|ECONNRESET/);
});
