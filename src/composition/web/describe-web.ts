import { container } from "tsyringe";
import { readConfig } from "../../runtime/config/config.ts";
import type { Environment } from "../../runtime/config/settings.ts";
import { registerShared } from "../shared.ts";
import { registerWeb } from "./server.ts";

/** Valid settings that reach no server: descriptions are made from the route table alone. */
const PLACEHOLDERS = {
  DATABASE_URL: "postgres://herald@127.0.0.1:1/none",
  REDIS_URL: "redis://127.0.0.1:1",
  ENCRYPTION_KEYS: `none:${Buffer.alloc(32).toString("base64")}`,
  JWT_SECRET: "none".repeat(8),
};

/** Registers web without connecting anything, for programs that only describe it. */
export function registerDescribedWeb(env: Environment = {}) {
  const child = container.createChildContainer();
  registerShared(child, readConfig({ ...PLACEHOLDERS, ...env }), "docs");
  registerWeb(child);
  return child;
}
