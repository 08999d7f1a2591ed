import { spawnSync } from "node:child_process";
import { join } from "node:path";

/** The permissions that the processes need under Deno. The command line also needs --allow-write. */
const DENO_PERMISSIONS = ["--allow-net", "--allow-env", "--allow-read", "--allow-sys"] as const;

export type Runtime = "node" | "deno";

/** Returns the program and arguments that run one file of bin/: the built file under Node, the source under Deno. */
export function processCommand(root: string, name: string, runtime: Runtime): [string, ...string[]] {
  if (runtime === "node") return [process.execPath, join(root, "dist/bin", `${name}.js`)];
  const permissions = [...DENO_PERMISSIONS, ...(name === "herald" ? ["--allow-write"] : [])];
  return [denoProgram(root), "run", "--no-prompt", ...permissions, join(root, "bin", `${name}.ts`)];
}

let denoPath: string | undefined;

/** Returns the real deno executable, cached: the npm package's wrapper does not forward signals. */
function denoProgram(root: string): string {
  denoPath ??= findDenoPath(root);
  return denoPath;
}

function findDenoPath(root: string): string {
  const wrapper = join(root, "node_modules/deno/bin.cjs");
  const result = spawnSync(process.execPath, [wrapper, "eval", "console.log(Deno.execPath())"], {
    encoding: "utf8",
  });
  if (result.status !== 0) throw new Error(`deno cannot be run: ${result.stderr || result.error?.message}`);
  return result.stdout.trim();
}
