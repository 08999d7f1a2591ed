import { pause } from "../../runtime/async/timeouts-and-retries.ts";
import { SECOND } from "../../runtime/durations.ts";
import type { BatchDto } from "../../schema/batches.ts";
import { callUntilAnswered } from "../command-line/api-client.ts";
import type { ApiAccess, BaseContext } from "../command-line/command.ts";

/** The time between two looks at all batches; with many of them, it grows by that of each. */
const [MIN_INTERVAL_MS, INTERVAL_PER_BATCH_MS] = [1 * SECOND, SECOND / 5];

interface Wait {
  access: ApiAccess;
  ids: readonly string[];
  context: Pick<BaseContext, "say" | "progress" | "isInteractive">;
}

/** Waits until nothing of the batches is still to be sent. A paused batch is waited for: somebody may resume it. */
export async function waitForBatches({ access, ids, context }: Wait): Promise<BatchDto[]> {
  const batches = new Map<string, BatchDto>();
  const report = createWaitReport(context);
  for (;;) {
    const open = ids.filter((id) => !batches.get(id)?.finished_at);
    for (const id of open) {
      const { body } = await callUntilAnswered(access, `/api/outbound/batches/${id}`, {
        onWait: report.note,
      });
      const batch = body as BatchDto;
      const isChanged = batches.get(id)?.status !== batch.status;
      batches.set(id, batch);
      if (isChanged) report.statusOf(batch);
    }
    const all = [...batches.values()];
    report.progress(all);
    if (all.every(({ finished_at }) => finished_at !== null)) break;
    await pause(Math.max(MIN_INTERVAL_MS, open.length * INTERVAL_PER_BATCH_MS));
  }
  report.end();
  return ids.map((id) => batches.get(id) as BatchDto);
}

/** How many messages a batch has. */
export const totalOf = ({ counts }: BatchDto): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** How many of them are still to be sent. */
export const waitingOf = ({ counts: { scheduled, queued, sending } }: BatchDto): number =>
  scheduled + queued + sending;

const sumOf = (batches: readonly BatchDto[], count: (batch: BatchDto) => number): number =>
  batches.reduce((sum, batch) => sum + count(batch), 0);

/** Draws a bar on a terminal, and prints the statuses that a person should know. */
function createWaitReport({ say, progress, isInteractive }: Wait["context"]) {
  let bar: ReturnType<BaseContext["progress"]> | undefined;
  let drawn = 0;
  const note = (line: string) => {
    bar?.end();
    say(line);
    bar?.advance(0);
  };
  return {
    note,
    statusOf({ batch_id, status, pause_reason, counts }: BatchDto) {
      if (status === "paused")
        note(`${batch_id} is paused (${pause_reason}): herald batch resume ${batch_id} continues it`);
      else if (status === "finished" || status === "cancelled")
        note(`${batch_id} is ${status}${counts.failed > 0 ? `, ${counts.failed} messages failed` : ""}`);
    },
    progress(batches: readonly BatchDto[]) {
      if (!isInteractive) return;
      bar ??= progress("sent", sumOf(batches, totalOf));
      const done = sumOf(batches, (batch) => totalOf(batch) - waitingOf(batch));
      bar.advance(done - drawn);
      drawn = done;
    },
    end: () => bar?.end(),
  };
}
