import { readdirSync } from "node:fs";
import { join } from "node:path";

/** Every page that a reader may open, README.md included. */
export const documentationPages = (root: string): string[] => [
  "README.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .sort()
    .map((path) => `docs/${path}`),
];
