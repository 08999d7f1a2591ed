import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Returns the folder of package.json: the parent of src/ for unbuilt sources, of dist/ for built ones. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error("package.json was not found in any parent folder of the sources");
    folder = parent;
  }
  return folder;
}

/** Returns the file of a thread: the source when this file is a source, the built one when this file is built. */
export function threadFile(name: string): string {
  const [folder, extension] = import.meta.url.endsWith(".ts") ? ["", "ts"] : ["dist", "js"];
  return join(packageRoot(), folder, "workers/threads", `${name}.${extension}`);
}

export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as {
    version: string;
  };
  return manifest.version;
}
