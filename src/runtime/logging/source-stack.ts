import { existsSync, readFileSync } from "node:fs";
import module, { type SourceMap } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Source maps by built file; undefined for a file without one. */
const sourceMaps = new Map<string, SourceMap | undefined>();

function sourceMapOf(file: string): SourceMap | undefined {
  if (!sourceMaps.has(file)) {
    const map = `${file}.map`;
    const isBuilt = existsSync(map);
    sourceMaps.set(file, isBuilt ? new module.SourceMap(JSON.parse(readFileSync(map, "utf8"))) : undefined);
  }
  return sourceMaps.get(file);
}

/** A search for whole locations would start again at every slash of a long word, which takes quadratic time. */
const WORD = /[^\s()]+/g;
const LOCATION = /^((?:file:\/\/)?\/.+\.js):(\d+):(\d+)$/;

/**
 * Replaces the locations in a stack by those in the source files. Node's --enable-source-maps would slow down the whole
 * process by a tenth or more; this costs time only when an error is logged.
 */
export const sourceStack = (stack: string): string =>
  stack.replace(WORD, (location) => {
    const [, url, line, column] = LOCATION.exec(location) ?? [];
    if (url === undefined) return location;
    try {
      const file = url.startsWith("file:") ? fileURLToPath(url) : url;
      const entry = sourceMapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
      if (!entry || !("originalSource" in entry)) return location;
      const source = join(dirname(file), entry.originalSource);
      return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
    } catch {
      return location; // a broken source map must not hide the error itself
    }
  });
