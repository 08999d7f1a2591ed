import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { Environment } from "../../runtime/config/settings.ts";
import { SECOND } from "../../runtime/durations.ts";
import { tryParseJson } from "../../runtime/json/json.ts";

const MIN_WRITE_INTERVAL_MS = 1 * SECOND;

/** Keeps the cursor of a run for `--resume`. */
export interface ResumeFile {
  /** The cursor that the last run stored; undefined when there is none. */
  read(): string | undefined;
  /** Writes at most once a second; `flush` writes what is left. */
  store(cursor: string): void;
  flush(): void;
}

/**
 * The file of runs with the same identity: key, address, target and filters. Its name is their hash, so that neither name nor
 * content tells the key.
 */
export function resumeFilePath(env: Environment, identity: readonly unknown[]): string {
  const state = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local/state");
  const hash = createHash("sha256").update(JSON.stringify(identity)).digest("hex");
  return join(state, "herald/listen", `${hash}.json`);
}

export function openResumeFile(path: string, say: (line: string) => void): ResumeFile {
  let unwritten: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let hasFailed = false;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (unwritten === undefined) return;
    try {
      writeAtomically(path, `${JSON.stringify({ cursor: unwritten, saved_at: new Date() })}\n`);
    } catch (error) {
      if (!hasFailed)
        say(`--resume will not work, the position cannot be stored: ${(error as Error).message}`);
      hasFailed = true;
    }
    unwritten = undefined;
  }

  return {
    read() {
      const { cursor } = (tryParseJson(readOrEmpty(path)) ?? {}) as { cursor?: unknown };
      return typeof cursor === "string" ? cursor : undefined;
    },
    store(cursor) {
      unwritten = cursor;
      timer ??= setTimeout(flush, MIN_WRITE_INTERVAL_MS);
    },
    flush,
  };
}

/** A reader sees the former content or the new one. The cursor tells what a client received: only its user may read it. */
function writeAtomically(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const tempFile = `${path}.${process.pid}`;
  writeFileSync(tempFile, content, { mode: 0o600 });
  renameSync(tempFile, path);
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
