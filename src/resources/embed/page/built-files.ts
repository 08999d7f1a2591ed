import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../../runtime/package-root.ts";

type BuiltFile = "signup.js" | "callback.js" | "page.css";

const cached = new Map<BuiltFile, string>();

/** Returns a file that esbuild.js built from browser/. It is read at the first call and kept. */
export function readBuiltFile(name: BuiltFile): string {
  const text = cached.get(name) ?? readFromDist(name);
  cached.set(name, text);
  return text;
}

function readFromDist(name: BuiltFile): string {
  const file = join(packageRoot(), "dist/embed", name);
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`the signup page is not built: npm run build creates ${file}`, { cause: error });
  }
}
