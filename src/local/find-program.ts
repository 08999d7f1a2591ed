import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";

/** A program that npm cannot install: its usual folders and its packages. */
export interface Program {
  name: string;
  /** Alternative file names. */
  aliases?: readonly string[];
  /** Folders to search after PATH; `*` matches part of one folder name, highest version first. */
  folders: readonly string[];
  apt: string;
  brew: string;
}

export const POSTGRES: Program = {
  name: "postgres",
  folders: [
    "/usr/lib/postgresql/*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/usr/pgsql-*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
  ],
  apt: "postgresql",
  brew: "postgresql@16",
};

export const REDIS: Program = {
  name: "redis-server",
  folders: ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"],
  apt: "redis-server",
  brew: "redis",
};

/** Used only by tests. The browser without windows takes half of the processor time. */
export const CHROMIUM: Program = {
  name: "chromium-headless-shell",
  aliases: [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "Chromium",
    "Google Chrome",
  ],
  folders: [
    "/usr/bin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/Applications/Chromium.app/Contents/MacOS",
    "/Applications/Google Chrome.app/Contents/MacOS",
  ],
  apt: "chromium-headless-shell",
  brew: "google-chrome",
};

/** Returns the program's path, or undefined when it is neither on PATH nor in its usual folders. */
export function findProgram(
  { name, aliases = [], folders }: Program,
  searchPath: string,
): string | undefined {
  const searchFolders = [...searchPath.split(delimiter).filter(Boolean), ...folders.flatMap(expandWildcard)];
  const names = [name, ...aliases];
  return searchFolders
    .flatMap((folder) => names.map((fileName) => join(folder, fileName)))
    .find(isExecutable);
}

function expandWildcard(folder: string): string[] {
  const parts = folder.split("/");
  const index = parts.findIndex((part) => part.includes("*"));
  if (index < 0) return [folder];
  const [before, rest] = [parts.slice(0, index).join("/"), parts.slice(index + 1)];
  const [start = "", end = ""] = (parts[index] as string).split("*");
  if (!existsSync(before)) return [];
  return readdirSync(before)
    .filter((entry) => entry.startsWith(start) && entry.endsWith(end))
    .sort((a, b) => b.localeCompare(a, "en", { numeric: true }))
    .map((entry) => join(before, entry, ...rest));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
