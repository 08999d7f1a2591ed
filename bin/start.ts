import { parseArgs } from "node:util";
import { startLocally } from "../src/local/start.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.abort());

try {
  const { values } = parseArgs({
    options: { deno: { type: "boolean" }, folder: { type: "string" }, help: { type: "boolean" } },
  });
  if (values.help) {
    process.stdout.write(
      "npm start [-- --folder DIR]   DIR keeps the data and the settings (.herald when absent)\n",
    );
    process.exit(0);
  }
  const exitCode = await startLocally({
    env: process.env,
    runtime: values.deno ? "deno" : "node",
    folder: values.folder,
    say: (line) => void process.stdout.write(`${line}\n`),
    stop: stop.signal,
  });
  process.exit(exitCode);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : "npm start failed"}\n`);
  process.exit(1);
}
