import { spawnSync } from "node:child_process";
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

/** Names all missing programs and the command that installs them. */
export class MissingPrograms extends Error {
  constructor(programs: readonly Program[], command: string) {
    const names = programs.map((program) => program.name).join(" and ");
    super(`${names} not found and could not be installed automatically. Run:\n\n    ${command}\n`);
    this.name = "MissingPrograms";
  }
}

interface Installer {
  tool: string;
  /** The command for a person to run. */
  command(programs: readonly Program[]): string;
  /** The same as non-interactive commands. */
  steps(programs: readonly Program[]): string[][];
}

/** Waits for the lock: a machine that has just booted runs apt automatically. */
const APT_LOCK_OPTIONS = ["-o", "DPkg::Lock::Timeout=120"];

const apt: Installer = {
  tool: "apt-get",
  command: (programs) =>
    `sudo apt-get update && sudo apt-get install -y ${programs.map(({ apt }) => apt).join(" ")}`,
  steps: (programs) => {
    const sudo = process.getuid?.() === 0 ? [] : ["sudo", "-n"];
    const aptGet = [...sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", ...APT_LOCK_OPTIONS];
    return [
      [...aptGet, "update"],
      [...aptGet, "install", "-y", "--no-install-recommends", ...programs.map((program) => program.apt)],
    ];
  },
};

const brew: Installer = {
  tool: "brew",
  command: (programs) => `brew install ${programs.map(({ brew }) => brew).join(" ")}`,
  steps: (programs) => [["brew", "install", "--quiet", ...programs.map((program) => program.brew)]],
};

/** Installs missing programs without prompting and returns the path of each; throws MissingPrograms when it cannot. */
export function ensurePrograms(
  programs: readonly Program[],
  searchPath: string,
  say: (line: string) => void,
): Map<Program, string> {
  const missing = programs.filter((program) => !findProgram(program, searchPath));
  if (missing.length > 0) install(missing, searchPath, say);
  return new Map(programs.map((program) => [program, findProgram(program, searchPath) as string]));
}

function install(missing: readonly Program[], searchPath: string, say: (line: string) => void): void {
  const installer = [apt, brew].find(({ tool }) => isOnPath(tool));
  if (!installer)
    throw new MissingPrograms(missing, `(install ${missing.map(({ name }) => name).join(", ")})`);
  say(`Installing ${missing.map(({ name }) => name).join(" and ")} with ${installer.tool} (only once) ...`);
  for (const [tool, ...args] of installer.steps(missing)) {
    const { status } = spawnSync(tool as string, args, { stdio: ["ignore", "ignore", "inherit"] });
    if (status !== 0) throw new MissingPrograms(missing, installer.command(missing));
  }
  const stillMissing = missing.filter((program) => !findProgram(program, searchPath));
  if (stillMissing.length > 0) throw new MissingPrograms(stillMissing, installer.command(stillMissing));
}

const isOnPath = (tool: string): boolean => spawnSync("sh", ["-c", `command -v ${tool}`]).status === 0;
