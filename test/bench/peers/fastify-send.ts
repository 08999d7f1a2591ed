/** A peer of the intake: fastify, a prepared INSERT and XADD. It does not authenticate or deduplicate. */
import type { AddressInfo } from "node:net";
import { fastify } from "fastify";
import { announcePort } from "./listen.ts";
import { acceptMessage, createTable } from "./message-store.ts";

await createTable();
const app = fastify();
app.post("/send", async (request, reply) => {
  reply.code(202);
  return acceptMessage(request.body);
});
await app.listen({ host: "127.0.0.1", port: 0 });
announcePort((app.server.address() as AddressInfo).port);
