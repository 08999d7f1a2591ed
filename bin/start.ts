import { startLocally } from "../src/local/start.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.abort());

try {
  process.exit(
    await startLocally({
      env: process.env,
      runtime: process.argv.includes("--deno") ? "deno" : "node",
      say: (line) => void process.stdout.write(`${line}\n`),
      stop: stop.signal,
    }),
  );
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : "npm start failed"}\n`);
  process.exit(1);
}
