/** Prints the OpenAPI document. It is made from the table of routes alone: nothing is connected, no setting is needed. */
import "reflect-metadata";
import { container } from "tsyringe";
import { tryReadConfig } from "../src/composition/run-process.ts";
import { registerShared } from "../src/composition/shared.ts";
import { productDocument } from "../src/composition/web/product-document.ts";
import { registerWeb } from "../src/composition/web/server.ts";

const PLACEHOLDERS = {
  DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
  REDIS_URL: "redis://127.0.0.1:1",
  ENCRYPTION_KEYS: `none:${Buffer.alloc(32).toString("base64")}`,
  JWT_SECRET: "none".repeat(8),
};

const config = tryReadConfig("openapi", { ...PLACEHOLDERS, PUBLIC_URL: process.env.PUBLIC_URL });
if (!config) process.exit(1);
registerShared(container, config, "openapi");
registerWeb(container);
process.stdout.write(`${JSON.stringify(productDocument(container), null, 2)}\n`);
