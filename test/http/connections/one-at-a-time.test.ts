import { connect } from "node:net";
import t, { type Test } from "tap";
import { type Route, route } from "../../../src/http/route.ts";
import { Type } from "../../../src/schema/types.ts";
import { startSmallApp } from "../../fixtures/http/small-app.ts";
import { until } from "../../fixtures/until.ts";

/** A route whose requests wait until they are released; `begun` has their numbers. */
function heldRoute() {
  const begun: string[] = [];
  const signals: AbortSignal[] = [];
  let isHeld = true;
  const held: Route = route({
    method: "get",
    path: "/held/{number}",
    scope: "public",
    summary: "Answer when released",
    params: Type.Object({ number: Type.String() }),
    reply: Type.Object({ number: Type.String() }),
    async handle({ params, callerGone }) {
      begun.push(params.number);
      signals.push(callerGone());
      await until("the request is released", () => !isHeld);
      return params;
    },
  });
  return { held, begun, signals, release: () => (isHeld = false) };
}

const get = (number: number) => `GET /held/${number} HTTP/1.1\r\nHost: x\r\n\r\n`;
const requests = (count: number) => Array.from({ length: count }, (_, number) => get(number)).join("");

async function open(t: Test, address: string) {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  let received = "";
  let isClosed = false;
  socket.on("data", (chunk) => (received += chunk));
  socket.on("close", () => (isClosed = true)).on("error", () => {});
  return {
    socket,
    /** The numbers of the requests that were answered. */
    answered: () => [...received.matchAll(/"number":"(\d+)"/g)].map(([, number]) => Number(number)),
    isClosed: () => isClosed,
  };
}

t.test("pipelined requests are begun one after the other and answered in order", async (t) => {
  const { held, begun, release } = heldRoute();
  const { address } = await startSmallApp(t, [held]);
  const { socket, answered, isClosed } = await open(t, address);
  socket.write(requests(33));
  await until("the first one has begun", () => begun.length > 0);
  const other = await fetch(`${address}/nothing`);
  t.equal(other.status, 404, "other connections are answered");
  t.same(begun, ["0"], "the second one has not begun");
  release();
  await until("all are answered", () => answered().length === 33);
  t.same(answered(), [...Array(33).keys()]);
  t.notOk(isClosed());
  socket.write(get(33));
  await until("the connection can be used further", () => answered().length === 34);
});

t.test("beyond 32 waiting requests the connection is closed after the answer in work", async (t) => {
  const { held, begun, release } = heldRoute();
  const { address } = await startSmallApp(t, [held]);
  const { socket, answered, isClosed } = await open(t, address);
  socket.write(requests(1_000));
  await until("the first one has begun", () => begun.length > 0);
  release();
  await until("the connection is closed", isClosed);
  t.same(answered(), [0]);
  t.same(begun, ["0"]);
});

t.test("waiting requests are dropped with their connection", async (t) => {
  const { held, begun, signals, release } = heldRoute();
  const { address, lines } = await startSmallApp(t, [held]);
  const { socket } = await open(t, address);
  socket.write(requests(10));
  await until("the first one has begun", () => begun.length > 0);
  socket.destroy();
  await until("the server has seen the end of the connection", () => signals[0]?.aborted);
  release();
  await until("the first one has ended", () => lines.some(({ event }) => event === "http.request"));
  t.same(begun, ["0"]);
});
