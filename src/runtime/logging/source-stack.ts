import { existsSync, readFileSync } from "node:fs";
import module, { type SourceMap } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Undefined for a file that was not built from others. */
const sourceMaps = new Map<string, SourceMap | undefined>();

function sourceMapOf(file: string): SourceMap | undefined {
  if (!sourceMaps.has(file)) {
    const map = `${file}.map`;
    const isBuilt = existsSync(map);
    sourceMaps.set(file, isBuilt ? new module.SourceMap(JSON.parse(readFileSync(map, "utf8"))) : undefined);
  }
  return sourceMaps.get(file);
}

const LOCATION = /(file:\/\/\/[^\s()]+\.js|\/[^\s()]+\.js):(\d+):(\d+)/g;

/**
 * A stack whose places are those of our sources, though the process runs from one built file. Node's own way of doing that
 * makes everything slower that an error might come from, by a tenth and more; this costs something only when one is told.
 */
export const sourceStack = (stack: string): string =>
  stack.replace(LOCATION, (location: string, url: string, line: string, column: string) => {
    try {
      const file = url.startsWith("file:") ? fileURLToPath(url) : url;
      const entry = sourceMapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
      if (!entry || !("originalSource" in entry)) return location;
      const source = join(dirname(file), entry.originalSource);
      return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
    } catch {
      return location; // whatever is wrong with a map, the error itself must be told
    }
  });
