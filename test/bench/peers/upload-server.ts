/**
 * Programs of the case images. `MODE` is `express` for the peer, which parses and decodes uploads on its event loop, or
 * `platform` for the ad platform that receives the images of both.
 */
import { createServer } from "node:http";
import express from "express";
import { listen } from "./listen.ts";

const ANSWER = JSON.stringify({ images: { file: { hash: "2dd5a6417c24b8a4e6374de0b6960a6d" } } });

const platform = () =>
  createServer((request, response) => {
    request.on("end", () => response.setHeader("content-type", "application/json").end(ANSWER)).resume();
  });

function peer() {
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

listen(process.env.MODE === "express" ? peer() : platform());
