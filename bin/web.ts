import "reflect-metadata";
import cluster from "node:cluster";
import { container } from "tsyringe";
import { runProcess } from "../src/composition/process.ts";
import { CONFIG, LOG, resolve } from "../src/composition/tokens.ts";
import { registerWeb, registerWebForks } from "../src/composition/web/server.ts";

const isDeno = "Deno" in globalThis;

const exitCode = await runProcess(container, {
  name: "web",
  env: process.env,
  register(container) {
    const forks = resolve(container, CONFIG).WEB_CONCURRENCY;
    if (forks > 1 && isDeno)
      resolve(container, LOG).warn("web.fork_skipped", {
        reason: "Deno does not support node:cluster",
        forks,
      });
    if (forks > 1 && !isDeno && cluster.isPrimary) registerWebForks(container);
    else registerWeb(container);
  },
});
process.exit(exitCode);
