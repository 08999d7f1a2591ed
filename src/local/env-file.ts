import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** Reads settings from `NAME='value'` lines, a format that a shell can source. */
export function readEnvFile(file: string): Record<string, string> {
  if (!existsSync(file)) return {};
  const lines = readFileSync(file, "utf8").matchAll(/^([A-Z_]+)='(.*)'$/gm);
  return Object.fromEntries(
    [...lines].map(([, name, value]) => [name as string, unescapeQuotes(value as string)]),
  );
}

/** Writes settings readable only by the owner, because they contain keys and passwords. */
export function writeEnvFile(file: string, settings: Record<string, string>): void {
  const lines = Object.entries(settings).map(([name, value]) => `${name}='${escapeQuotes(value)}'\n`);
  const tempFile = `${file}.new`;
  rmSync(tempFile, { force: true }); // the mode applies only to a new file
  writeFileSync(tempFile, lines.join(""), { mode: 0o600 });
  renameSync(tempFile, file); // atomic: losing the encryption keys would make all stored secrets unreadable
}

const ESCAPED_QUOTE = `'\\''`;
const escapeQuotes = (value: string) => value.replaceAll("'", ESCAPED_QUOTE);
const unescapeQuotes = (value: string) => value.replaceAll(ESCAPED_QUOTE, "'");
