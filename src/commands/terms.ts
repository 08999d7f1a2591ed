import { createReadStream } from "node:fs";
import { publishTerms } from "../domain/tenants/terms.ts";
import { findTermsInForce } from "../store/tenants/terms.ts";
import { type Command, CommandError, defineCommand, UsageError } from "./command-line/command.ts";
import { required } from "./command-line/options.ts";

const KIB = 1_024;
const MAX_FILE_BYTES = 256 * KIB;

export const TERMS_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "terms publish",
    summary: "Publish a new version of the advertising terms; every client must accept it again",
    options: {
      version: required({ placeholder: "VERSION", about: "such as 2026-11-01", parse: parseVersion }),
      file: required({
        placeholder: "FILE",
        about: `text file in UTF-8, at most ${MAX_FILE_BYTES / KIB} KiB`,
        parse: (text: string) => text,
      }),
    },
    async run({ version, file }, context) {
      const published = await publishTerms(context.db, { version, text: await readTermsFile(file) });
      if (published.outcome === "exists")
        throw new CommandError(`version ${version} already exists: publish a new text under a new version`);
      const { row, former, clientsToReaccept } = published;
      context.say(`clients that accepted ${former} and must accept the new version: ${clientsToReaccept}`);
      return { version: row.version, published_at: row.published_at };
    },
  }),
  defineCommand({
    name: "terms current",
    summary: "Show which version of the advertising terms is in force",
    options: {},
    async run(_, { db }) {
      const { version, published_at } = await findTermsInForce(db);
      return { version, published_at };
    },
  }),
];

function parseVersion(text: string): string {
  if (/^[\x21-\x7e]{1,64}$/.test(text)) return text;
  throw new UsageError("must have 1 to 64 visible ASCII characters and no spaces");
}

async function readTermsFile(file: string): Promise<string> {
  const bytes = await readFirstBytes(file, MAX_FILE_BYTES + 1);
  if (bytes.length > MAX_FILE_BYTES)
    throw new CommandError(`${file} is larger than ${MAX_FILE_BYTES / KIB} KiB`);
  const text = decodeUtf8(bytes);
  if (text === undefined) throw new CommandError(`${file} is not UTF-8 text`);
  if (text.includes("\u0000")) throw new CommandError(`${file} contains the character U+0000`);
  if (text.trim() === "") throw new CommandError(`${file} is empty`);
  return text;
}

/** Reads at most `count` bytes: the file may be a device or another endless source. */
async function readFirstBytes(file: string, count: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of createReadStream(file, { end: count - 1 })) chunks.push(chunk as Buffer);
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  return Buffer.concat(chunks);
}

function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
