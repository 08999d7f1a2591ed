import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../runtime/package-root.ts";

/** A page of the documentation for integrators. */
export interface Guide {
  /** Its path in the repository. It is served there, so that the links between guides work, and without `.md`. */
  path: string;
  title: string;
  /** Its first sentence. */
  summary: string;
  text: string;
}

const FIRST_GUIDE = "quickstart.md";

/** Reads all guides and the description of the sandbox. */
export function readGuides(): Guide[] {
  const names = readdirSync(join(packageRoot(), "docs/guides")).sort();
  const others = names.filter((name) => name !== FIRST_GUIDE);
  return [...[FIRST_GUIDE, ...others].map((name) => `/docs/guides/${name}`), "/docs/sandbox.md"].map(
    readGuide,
  );
}

function readGuide(path: string): Guide {
  const text = readFileSync(join(packageRoot(), path), "utf8");
  const [heading = "", paragraph = ""] = text.split("\n\n");
  const [sentence = ""] = paragraph.replaceAll("\n", " ").split(". ");
  return { path, title: heading.replace("# ", ""), summary: sentence.replace(/\.$/, ""), text };
}
