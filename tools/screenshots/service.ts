import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEnvFile } from "../../src/local/settings.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";

/** The folder of the pictures. */
export const PICTURES = join(packageRoot(), "docs/images");

export type Settings = Record<string, string>;

/** Runs `work` beside a service of its own, which is deleted afterwards. */
export async function withService(work: (settings: Settings) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "herald-"));
  const start = join(packageRoot(), "dist/bin/start.js");
  const service = spawn(process.execPath, [start, "--folder", folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => service.once("close", () => resolve()));
  try {
    await new Promise<void>((resolve, reject) => {
      let output = "";
      service.stdout.on("data", (chunk) => {
        output = (output + chunk).slice(-10_000);
        if (output.includes("Herald is up")) resolve();
      });
      ended.then(() => reject(new Error(`the service did not start:\n${output}`)));
    });
    await work(readEnvFile(join(folder, "env")));
  } finally {
    service.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Calls the API as the demo client. */
export async function call<T>(
  { PUBLIC_URL, DEMO_API_KEY }: Settings,
  path: string,
  json?: object,
): Promise<T> {
  const response = await fetch(`${PUBLIC_URL}${path}`, {
    headers: { "x-svc-api-key": DEMO_API_KEY as string },
    ...(json ? { method: "POST", body: JSON.stringify(json) } : {}),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

export async function until<T>(what: string, probe: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + 120 * SECOND;
  while (Date.now() < deadline) {
    const found = await probe();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 0.5 * SECOND));
  }
  throw new Error(`timed out: ${what}`);
}
