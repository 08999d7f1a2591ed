/**
 * Programs of the upload case, as separate processes. `plain` is the baseline: it parses and decodes uploads on the event
 * loop. `platform` receives the images of both.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";

const ANSWER = JSON.stringify({ images: { file: { hash: "2dd5a6417c24b8a4e6374de0b6960a6d" } } });

const platform = () =>
  createServer((request, response) => {
    request.on("end", () => response.setHeader("content-type", "application/json").end(ANSWER)).resume();
  });

function plain() {
  const app = express();
  app.use(express.json({ limit: "10mb" }));
  app.get("/me", (_request, response) => void response.json({ client_name: "Bench" }));
  app.post("/images", async (request, response) => {
    const body = Buffer.from(request.body.bytes_base64, "base64");
    const reply = await fetch(process.env.AD_PLATFORM_URL ?? "", { method: "POST", body });
    response.json(await reply.json());
  });
  return createServer(app);
}

const server = process.argv[2] === "plain" ? plain() : platform();
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
