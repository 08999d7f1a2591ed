import { OAUTH_STATE_TTL_MS } from "../runtime/deadlines.ts";
import { MINUTE } from "../runtime/durations.ts";
import { type SecretBox, SecretBoxError, sealedContext } from "../security/secret-box.ts";
import type { Database } from "../store/database/database.ts";
import {
  findSealedColumns,
  listKeyUsage,
  listStaleValues,
  replaceSealedValues,
  type SealedColumn,
  type SealedValue,
} from "../store/database/sealed-columns.ts";
import { type Command, defineCommand } from "./command-line/command.ts";
import type { Progress } from "./command-line/output.ts";

const BATCH_ROWS = 500;

interface RotationResult {
  rotated: number;
  /** Secrets encrypted with a key that ENCRYPTION_KEYS lacks, or written during the run. */
  left: number;
}

export const SECRETS_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "secrets rotate",
    summary: "Re-encrypt all stored secrets with the first key of ENCRYPTION_KEYS",
    options: {},
    async run(_, { db, secretBox, progress }): Promise<RotationResult> {
      const columns = await findSealedColumns(db);
      const bar = progress("secrets", await countStale(db, columns, secretBox));
      let rotated = 0;
      for (const column of columns) rotated += await rotateColumn({ db, secretBox, bar }, column);
      bar.end();
      return { rotated, left: await countStale(db, columns, secretBox) };
    },
    show: ({ rotated, left }) =>
      left === 0
        ? `${rotated} secrets re-encrypted; remove the other keys of ENCRYPTION_KEYS in ${OAUTH_STATE_TTL_MS / MINUTE} minutes, when the OAuth states that they signed have expired`
        : `${rotated} secrets re-encrypted, ${left} are left: run it again with the keys they were encrypted with`,
    isFailure: ({ left }) => left > 0,
  }),
];

/** Counts secrets encrypted with another key, or with a different key of the same name. */
async function countStale(db: Database, columns: readonly SealedColumn[], box: SecretBox): Promise<number> {
  let count = 0;
  for (const column of columns)
    for (const share of await listKeyUsage(db, column))
      if (share.keyId !== box.keyId || tryOpen(box, column, share.sample) === undefined) count += share.count;
  return count;
}

interface RotationParts {
  db: Database;
  secretBox: SecretBox;
  bar: Progress;
}

async function rotateColumn({ db, secretBox, bar }: RotationParts, column: SealedColumn): Promise<number> {
  let [rotated, after]: [number, SealedValue["key"] | undefined] = [0, undefined];
  for (;;) {
    const values = await listStaleValues(db, column, { keyId: secretBox.keyId, after, limit: BATCH_ROWS });
    if (values.length === 0) return rotated;
    const resealed = values.flatMap((value) => reseal(secretBox, column, value));
    rotated += await replaceSealedValues(db, column, resealed);
    bar.advance(values.length);
    after = values.at(-1)?.key;
  }
}

/** Empty for a secret that cannot be decrypted: it stays unchanged and counts as left. */
function reseal(secretBox: SecretBox, column: SealedColumn, value: SealedValue) {
  const secret = tryOpen(secretBox, column, value);
  if (secret === undefined) return [];
  return [{ ...value, replacement: secretBox.seal(secret, contextOf(column, value)) }];
}

/** The secret; undefined when none of the keys decrypts it. */
export function tryOpen(box: SecretBox, column: SealedColumn, value: SealedValue): string | undefined {
  try {
    return box.open(value.sealed, contextOf(column, value));
  } catch (error) {
    if (error instanceof SecretBoxError) return undefined;
    throw error;
  }
}

const contextOf = ({ table, column }: SealedColumn, { key }: SealedValue): string =>
  sealedContext({ table, column, id: key.at(-1) as string });
