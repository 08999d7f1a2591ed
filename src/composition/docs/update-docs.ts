import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DependencyContainer } from "tsyringe";
import { exampleSettings } from "../../runtime/config/settings-docs.ts";
import { CONFIG, ROUTES, resolve } from "../tokens.ts";
import { fillGenerated, type GeneratedParts } from "./markdown.ts";
import { documentationPages } from "./pages.ts";
import { referenceTables } from "./reference-tables.ts";
import { sandboxTables } from "./sandbox-tables.ts";

export async function generateParts(container: DependencyContainer): Promise<GeneratedParts> {
  const tables = referenceTables(resolve(container, ROUTES));
  return new Map([...tables, ...(await sandboxTables(resolve(container, CONFIG)))]);
}

/** The generated files as they should be: the pages with their tables, and `.env.example`. */
export function generatedFiles(root: string, parts: GeneratedParts): Map<string, string> {
  const pages = documentationPages(root).map(
    (page) => [page, fillGenerated(readFileSync(join(root, page), "utf8"), parts)] as const,
  );
  return new Map([...pages, [".env.example", exampleSettings()]]);
}

/** Writes the generated files and returns the names of those that changed. */
export function updateDocs(root: string, parts: GeneratedParts): string[] {
  const isChanged = ([file, text]: [string, string]) => readOrEmpty(join(root, file)) !== text;
  const changed = [...generatedFiles(root, parts)].filter(isChanged);
  for (const [file, text] of changed) writeFileSync(join(root, file), text);
  return changed.map(([file]) => file);
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
