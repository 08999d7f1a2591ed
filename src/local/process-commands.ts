import { spawnSync } from "node:child_process";
import { join } from "node:path";

/** Network, environment, read and system information: what the processes need under Deno, and no more. The command line also writes files. */
const DENO_PERMISSIONS = ["--allow-net", "--allow-env", "--allow-read", "--allow-sys"] as const;

export type Runtime = "node" | "deno";

/** The program and arguments that run one file of bin/: built under Node, as it stands under Deno. */
export function processCommand(root: string, name: string, runtime: Runtime): [string, ...string[]] {
  if (runtime === "node") return [process.execPath, join(root, "dist/bin", `${name}.js`)];
  const permissions = [...DENO_PERMISSIONS, ...(name === "herald" ? ["--allow-write"] : [])];
  return [denoProgram(root), "run", "--no-prompt", ...permissions, join(root, "bin", `${name}.ts`)];
}

let denoPath: string | undefined;

/** The npm package wraps the real program in one that passes no signals on, so it is asked, once, where that lies. */
function denoProgram(root: string): string {
  denoPath ??= findDenoPath(root);
  return denoPath;
}

function findDenoPath(root: string): string {
  const wrapper = join(root, "node_modules/deno/bin.cjs");
  const result = spawnSync(process.execPath, [wrapper, "eval", "console.log(Deno.execPath())"], {
    encoding: "utf8",
  });
  if (result.status !== 0) throw new Error(`deno does not run: ${result.stderr || result.error?.message}`);
  return result.stdout.trim();
}
