import {
  countQueuedMessages,
  type DiscardResult,
  discardMessages,
} from "../domain/messages/cancel-and-discard.ts";
import { type QueueStatus, queueStatus, type StreamStatus, WAIT_REASONS } from "../queue/queue-status.ts";
import { awaitConnection } from "../queue/redis.ts";
import { readRedisState } from "../queue/redis-state.ts";
import { tagsOf } from "../queue/wake-ups.ts";
import { SECOND } from "../runtime/durations.ts";
import { describeHold, holdQueue, readQueueHold, releaseQueue } from "../store/processes/queue-hold.ts";
import {
  type Command,
  type CommandContext,
  confirmWithName,
  defineCommand,
  operatorActor,
  UsageError,
} from "./command-line/command.ts";
import { flag, OPTION, optional, required } from "./command-line/options.ts";
import { toColumns, toTable } from "./command-line/output.ts";
import { requireClient } from "./command-line/require-client.ts";

const CONNECT_TIMEOUT_MS = 5 * SECOND;
const MAX_READS = 3;

export const QUEUE_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "queue status",
    summary:
      "Show whether the queue is held, and for each stream what waits and why, its age and its failures",
    options: {},
    async run(_, { db, redis, config, say }): Promise<QueueStatus> {
      const tags = tagsOf(config);
      await awaitConnection(redis, CONNECT_TIMEOUT_MS);
      const status = await readComplete(() => queueStatus({ db, redis, tags }));
      const { state } = await readRedisState(redis, { tags, timeoutMs: CONNECT_TIMEOUT_MS });
      if (state === "read_only") {
        say(
          "Redis refuses writes: no stream can be used, and depth is unknown; run herald doctor for details",
        );
        return { ...status, data: status.data.map((stream) => ({ ...stream, depth: null })) };
      }
      if (!isComplete(status))
        say("Redis does not answer: depth and open_breakers are unknown; run herald doctor for details");
      return status;
    },
    show: ({ held, held_since: since, held_by: by, held_reason: reason, data, clients }) =>
      [
        ...(held ? [describeHold({ held, since, by, reason })] : []),
        toTable(data.map(toCells)),
        ...(clients.length === 0 ? [] : ["", toColumns(clients, CLIENT_FIELDS)]),
      ].join("\n"),
    // Scripts that watch the queue must not take a partial result for a complete one.
    isFailure: (status) => !isComplete(status),
  }),
  defineCommand({
    name: "queue hold",
    summary:
      "Hold the queue: dispatchers start no send and no delivery until it is released; web keeps accepting",
    options: { reason: optional(OPTION.reason) },
    async run({ reason }, { db, operator: by, say }) {
      const isNew = await holdQueue(db, { by, reason });
      const hold = await readQueueHold(db);
      if (!isNew && hold.held) say(`The queue was already ${describeHold(hold)}; nothing was changed`);
      return hold;
    },
  }),
  defineCommand({
    name: "queue release",
    summary: "Release the queue after a hold",
    options: {},
    run: (_, { db }) => releaseQueue(db),
  }),
  defineCommand({
    name: "queue discard-sends",
    summary: "Fail a client's queued messages that were accepted before a time, with the code discarded",
    options: {
      client: required(OPTION.client),
      before: required({ ...OPTION.time, about: `messages accepted before this time, ${OPTION.time.about}` }),
      yes: flag("do not ask for confirmation"),
    },
    async run({ client, before: time, yes }, context): Promise<{ discarded: number }> {
      const before = new Date(time);
      // Messages that are accepted while the command runs must not be discarded. A leap second is no Date.
      if (!(before.getTime() <= Date.now())) throw new UsageError("--before must be a time in the past");
      const { name } = await requireClient(context, client);
      const { queued, claimed } = await countQueuedMessages(context.db, client, before);
      if (queued === 0) return report(context, { discarded: 0, claimed });
      if (!yes)
        await confirmWithName(context, name, {
          warning: `This fails ${queued} queued messages of "${name}"; they are never sent.`,
          refusal: "nothing was discarded",
        });
      const bar = context.progress("messages", queued);
      const actor = operatorActor(context, client);
      const result = await discardMessages(context.db, actor, { before, onBatch: bar.advance });
      bar.end();
      return report(context, result);
    },
  }),
];

function report({ say }: CommandContext, { discarded, claimed }: DiscardResult): { discarded: number } {
  if (claimed > 0) say(`${claimed} messages are being sent by a dispatcher and were not discarded`);
  return { discarded };
}

const CLIENT_FIELDS = ["client_id", "stream", "waiting", "reason"] as const;

/** Reads again when Redis did not answer in time: on a busy machine, a single answer may be late. */
async function readComplete(read: () => Promise<QueueStatus>): Promise<QueueStatus> {
  let status = await read();
  for (let reads = 1; reads < MAX_READS && !isComplete(status); reads++) status = await read();
  return status;
}

const isComplete = ({ data }: QueueStatus) =>
  data.every(({ depth, open_breakers }) => depth !== null && open_breakers !== null);

/** One line per stream; reasons without rows are left out. */
function toCells({ stream, depth, in_flight, parked, open_breakers, waiting, ...figures }: StreamStatus) {
  const reasons = WAIT_REASONS.filter((reason) => waiting[reason] > 0).map(
    (reason) => `${reason} ${waiting[reason]}`,
  );
  const total = reasons.length === 0 ? waiting.total : `${waiting.total} (${reasons.join(", ")})`;
  const { oldest_due_seconds, oldest_accepted_seconds, failed_24h } = figures;
  return {
    stream,
    depth,
    oldest_due_seconds,
    in_flight,
    parked,
    open_breakers,
    waiting: total,
    oldest_accepted_seconds,
    failed_24h,
  };
}
