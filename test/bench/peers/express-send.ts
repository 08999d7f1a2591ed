/** A peer of the intake: express, a prepared INSERT and XADD. It does not authenticate or deduplicate. */
import { createServer } from "node:http";
import express from "express";
import { listen } from "./listen.ts";
import { acceptMessage, createTable } from "./message-store.ts";

await createTable();
const app = express().disable("x-powered-by").disable("etag");
app.use(express.json());
app.post("/send", async (request, response) => {
  response.status(202).json(await acceptMessage(request.body));
});
listen(createServer(app));
