import type { BenchContext } from "./context.ts";

/** Returns a function that counts the rows of a table. */
export const rowCounter =
  ({ db }: BenchContext, table: string) =>
  async (): Promise<number> => {
    const [row] = await db.query<{ count: string }>(`select count(*) from ${table}`);
    return Number(row?.count);
  };
