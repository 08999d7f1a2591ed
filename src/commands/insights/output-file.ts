import { rmSync } from "node:fs";
import { type FileHandle, lstat, open, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { randomText } from "../../security/random-text.ts";
import { CommandError } from "../program/command.ts";

/** A file that appears under its name only when it is complete; until then its text is in a temporary file beside it. */
export interface OutputFile {
  write(text: string): Promise<void>;
  /** Gives the file its name and replaces an older file. */
  complete(): Promise<void>;
  /** Removes the temporary file, if there is one. Synchronous, so that a signal handler can call it. */
  discard(): void;
}

/** Only the operator may read the file: it has a client's data. */
const FILE_MODE = 0o600;
const RANDOM_CHARACTERS = 12;

export async function createOutputFile(path: string): Promise<OutputFile> {
  await requireReplaceable(path);
  const temporaryPath = join(dirname(path), `.${basename(path)}.${randomText(RANDOM_CHARACTERS)}.tmp`);
  const handle = await openNewFile(temporaryPath);
  return {
    write: (text) => handle.appendFile(text),
    async complete() {
      await handle.sync();
      await handle.close();
      await rename(temporaryPath, path);
    },
    discard() {
      handle.close().catch(() => {}); // it is already closed after complete
      rmSync(temporaryPath, { force: true });
    },
  };
}

/** Refuses folders, devices and links: renaming a file to their name would replace them. */
async function requireReplaceable(path: string): Promise<void> {
  const existing = await lstat(path).catch(() => undefined);
  if (existing && !existing.isFile()) throw new CommandError(`${path} exists and is not a regular file`);
}

async function openNewFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, "wx", FILE_MODE);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isMissing = code === "ENOENT" || code === "ENOTDIR";
    const problem = isMissing ? "does not exist" : `cannot be written to (${code})`;
    throw new CommandError(`the folder ${dirname(path)} ${problem}`, { cause: error });
  }
}
