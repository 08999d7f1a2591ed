import { existsSync, readFileSync } from "node:fs";
import module, { type SourceMap } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Undefined for a file that was not built from others. */
const maps = new Map<string, SourceMap | undefined>();

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) {
    const map = `${file}.map`;
    const isBuilt = existsSync(map);
    maps.set(file, isBuilt ? new module.SourceMap(JSON.parse(readFileSync(map, "utf8"))) : undefined);
  }
  return maps.get(file);
}

const PLACE = /(file:\/\/\/[^\s()]+\.js|\/[^\s()]+\.js):(\d+):(\d+)/g;

/**
 * A stack whose places are those of our sources, though the process runs from one built file. Node's own way of doing that
 * makes everything slower that an error might come from, by a tenth and more; this costs something only when one is told.
 */
export const sourceStack = (stack: string): string =>
  stack.replace(PLACE, (place: string, url: string, line: string, column: string) => {
    try {
      const file = url.startsWith("file:") ? fileURLToPath(url) : url;
      const found = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
      if (!found || !("originalSource" in found)) return place;
      const source = join(dirname(file), found.originalSource);
      return `${source}:${found.originalLine + 1}:${found.originalColumn + 1}`;
    } catch {
      return place; // whatever is wrong with a map, the error itself must be told
    }
  });
