import { once } from "node:events";
import { createServer, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { Test } from "tap";
import t from "tap";
import { listen, trackConnections } from "../../../src/runtime/http/listen.ts";

/** Starts a server that responds when the test calls `answers`. */
async function startServer(t: Test) {
  const answers: (() => void)[] = [];
  const server = createServer((_request, response) => answers.push(() => response.end("done")));
  const connections = trackConnections(server);
  await listen(server, 0, "127.0.0.1");
  t.teardown(() => server.closeAllConnections());
  return { server, connections, answers, port: (server.address() as AddressInfo).port };
}

t.test("a connection without a request does not delay the close", async (t) => {
  const { connections, port, server } = await startServer(t);
  const socket = connect(port, "127.0.0.1");
  await once(server, "connection");
  await connections.close();
  const open = await new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
  t.equal(open, 0);
  socket.destroy();
});

t.test("a response in flight is finished, and its keep-alive connection is closed afterwards", async (t) => {
  const { connections, answers, port, server } = await startServer(t);
  const outgoing = request({ port, host: "127.0.0.1", headers: { connection: "keep-alive" } }).end();
  await once(server, "request");
  const closed = connections.close();
  answers[0]?.();
  const [response] = await once(outgoing, "response");
  let text = "";
  for await (const chunk of response) text += chunk;
  t.equal(text, "done");
  await closed;
});

t.test("a request on a busy connection during the close is answered with Connection: close", async (t) => {
  const { connections, answers, port, server } = await startServer(t);
  const socket = connect(port, "127.0.0.1", () => socket.write("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"));
  let received = "";
  socket.on("data", (chunk) => (received += chunk));
  await once(server, "request");
  const closed = connections.close();
  socket.write("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  await once(server, "request");
  for (const answer of answers) answer();
  await closed;
  await once(socket, "close");
  t.equal(received.match(/done/g)?.length, 2);
  t.match(received, /connection: close/i);
});
