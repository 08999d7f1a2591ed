import { type BenchContext, openContext } from "../frame/context.ts";

/** Opens another database and Redis database, for a contestant that is Herald in another condition. */
export async function openContextBeside(context: BenchContext): Promise<BenchContext> {
  const { isSmokeTest, count, teardown, fail } = context;
  const beside = await openContext({ scale: 1, isSmokeTest });
  teardown(beside.close);
  beside.failed.catch(fail);
  return { ...beside.context, count };
}
