import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";

/** Settings as `NAME='value'` lines, which a shell can read too. */
export function readEnvFile(file: string): Record<string, string> {
  if (!existsSync(file)) return {};
  const lines = readFileSync(file, "utf8").matchAll(/^([A-Z_]+)='(.*)'$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name as string, unquoted(value as string)]));
}

/** For the owner's eyes only: keys and passwords stand in it. */
export function writeEnvFile(file: string, settings: Record<string, string>): void {
  const lines = Object.entries(settings).map(([name, value]) => `${name}='${quoted(value)}'\n`);
  writeFileSync(file, lines.join(""), { mode: 0o600 });
  chmodSync(file, 0o600); // the mode above counts only for a new file
}

const QUOTE = `'\\''`;
const quoted = (value: string) => value.replaceAll("'", QUOTE);
const unquoted = (value: string) => value.replaceAll(QUOTE, "'");
