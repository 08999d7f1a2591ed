import { spawnSync } from "node:child_process";
import { findProgram, type Program } from "./find-program.ts";

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
