import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** Settings as `NAME='value'` lines, which a shell can read too. */
export function readEnvFile(file: string): Record<string, string> {
  if (!existsSync(file)) return {};
  const lines = readFileSync(file, "utf8").matchAll(/^([A-Z_]+)='(.*)'$/gm);
  return Object.fromEntries(
    [...lines].map(([, name, value]) => [name as string, unescapeQuotes(value as string)]),
  );
}

/** For the owner's eyes only: keys and passwords stand in it. */
export function writeEnvFile(file: string, settings: Record<string, string>): void {
  const lines = Object.entries(settings).map(([name, value]) => `${name}='${escapeQuotes(value)}'\n`);
  const tempFile = `${file}.new`;
  rmSync(tempFile, { force: true }); // a mode counts only for a new file
  writeFileSync(tempFile, lines.join(""), { mode: 0o600 });
  renameSync(tempFile, file); // whole or not at all: the key to everything stored stands in it
}

const ESCAPED_QUOTE = `'\\''`;
const escapeQuotes = (value: string) => value.replaceAll("'", ESCAPED_QUOTE);
const unescapeQuotes = (value: string) => value.replaceAll(ESCAPED_QUOTE, "'");
