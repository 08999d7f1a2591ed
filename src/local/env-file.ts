import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** Settings as `NAME='value'` lines, which a shell can read too. */
export function readEnvFile(file: string): Record<string, string> {
  if (!existsSync(file)) return {};
  const lines = readFileSync(file, "utf8").matchAll(/^([A-Z_]+)='(.*)'$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name as string, unquoted(value as string)]));
}

/** For the owner's eyes only: keys and passwords stand in it. */
export function writeEnvFile(file: string, settings: Record<string, string>): void {
  const lines = Object.entries(settings).map(([name, value]) => `${name}='${quoted(value)}'\n`);
  const fresh = `${file}.new`;
  rmSync(fresh, { force: true }); // a mode counts only for a new file
  writeFileSync(fresh, lines.join(""), { mode: 0o600 });
  renameSync(fresh, file); // whole or not at all: the key to everything stored stands in it
}

const QUOTE = `'\\''`;
const quoted = (value: string) => value.replaceAll("'", QUOTE);
const unquoted = (value: string) => value.replaceAll(QUOTE, "'");
