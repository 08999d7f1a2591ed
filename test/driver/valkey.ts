import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensurePrograms, findProgram, MissingPrograms } from "../../src/local/programs.ts";
import { VALKEY } from "../fixtures/servers/programs.ts";

/** A release of Debian whose own packages lack Valkey; its backports have it. */
const DEBIAN_12 = "bookworm";

const output = (command: string, ...args: string[]): string =>
  spawnSync(command, args, { encoding: "utf8" }).stdout ?? "";

/** Installs Valkey if it is missing. Without the permission it throws an error that says what to install. */
export function ensureValkey(say: (line: string) => void): void {
  const path = process.env.PATH ?? "";
  if (findProgram(VALKEY, path)) return;
  if (output("sh", "-c", ". /etc/os-release && echo $VERSION_CODENAME").trim() !== DEBIAN_12)
    ensurePrograms([VALKEY], path, say);
  else installBackport(say);
  if (!findProgram(VALKEY, path)) throw new MissingPrograms([VALKEY], manualCommands());
}

const manualCommands = () =>
  `add the suite ${DEBIAN_12}-backports to /etc/apt/sources.list.d/debian.sources, then\n    sudo apt-get update && sudo apt-get install -y valkey-server/${DEBIAN_12}-backports valkey-tools/${DEBIAN_12}-backports`;

/** Reads the backports from the mirror that the system uses, without a change of its sources. */
function installBackport(say: (line: string) => void): void {
  const sudo = process.getuid?.() === 0 ? [] : ["sudo", "-n"];
  const mirror = output("apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)")
    .split("\n")
    .map((line) => line.split(" "))
    .find(([release]) => release === DEBIAN_12)?.[1];
  if (!mirror) throw new MissingPrograms([VALKEY], manualCommands());
  say(`Installing valkey-server from ${DEBIAN_12}-backports (only once) ...`);
  const folder = mkdtempSync(join(tmpdir(), "herald-apt-"));
  const list = join(folder, "backports.list");
  writeFileSync(list, `deb ${mirror} ${DEBIAN_12}-backports main\n`);
  const run = (...args: string[]) => {
    const [program, ...rest] = [...sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", ...args];
    const { status } = spawnSync(program as string, rest, { stdio: ["ignore", "ignore", "inherit"] });
    if (status !== 0) throw new MissingPrograms([VALKEY], manualCommands());
  };
  try {
    const source = ["-o", `Dir::Etc::sourcelist=${list}`];
    run("update", ...source, "-o", "Dir::Etc::sourceparts=-", "-o", "APT::Get::List-Cleanup=0");
    const packages = ["valkey-server", "valkey-tools"].map((name) => `${name}/${DEBIAN_12}-backports`);
    run("install", "-y", "--no-install-recommends", ...source, ...packages);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
