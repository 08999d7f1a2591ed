import { connect, type Socket } from "node:net";
import t from "tap";
import { startHostileService } from "../fixtures/hostile/service.ts";

/** Beginnings of requests that never end; each is followed by one byte now and then. */
const BEGINNINGS = [
  "",
  "GET /api/channels HTTP/1.1\r\nHost: x\r\n",
  "POST /platform/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n{",
  "POST /platform/webhook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n100\r\n{",
  "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 16000\r\n\r\n{",
  "POST /api/outbound/send HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{",
];

const CONNECTIONS = 200;

t.test("connections that send slowly delay no other request", async (t) => {
  const service = await startHostileService(t);
  const { hostname, port } = new URL(service.address);
  await service.underProbes(t, `${CONNECTIONS} slow connections`, async () => {
    const sockets = await Promise.all(
      Array.from(
        { length: CONNECTIONS },
        (_, index) =>
          new Promise<Socket>((resolve) => {
            const socket = connect(Number(port), hostname, () => resolve(socket));
            socket.on("error", () => {});
            socket.write(BEGINNINGS[index % BEGINNINGS.length] as string);
          }),
      ),
    );
    for (let byte = 0; byte < 50; byte++) {
      for (const socket of sockets) if (socket.writable) socket.write(" ");
      t.equal((await service.call("GET", "/readyz")).status, 200);
    }
    for (const socket of sockets) socket.destroy();
  });
});
