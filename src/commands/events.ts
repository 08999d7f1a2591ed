import {
  REPLAYABLE_STATUSES,
  type ReplayCounts,
  type ReplayWish,
  replayEvents,
} from "../domain/events/replay.ts";
import { type GivenPeriod, readPeriod } from "../schema/period.ts";
import { UsageError, type Verb, verb } from "./command.ts";
import { clientNamed } from "./operator.ts";
import { listed, OPTION, optional, required } from "./options.ts";

export const EVENTS_VERBS: readonly Verb[] = [
  verb({
    name: "events replay",
    summary: "Send a client's events of a time again that failed or were skipped; fresh ones go first",
    options: {
      client: required(OPTION.client),
      since: required({ ...OPTION.time, about: `occurred then or later, ${OPTION.time.about}` }),
      until: optional({ ...OPTION.time, about: "occurred then or earlier (now when absent)" }),
      status: optional({
        placeholder: "STATUS",
        about: `${REPLAYABLE_STATUSES.join(", ")} (both when absent)`,
        parse: listed(REPLAYABLE_STATUSES),
      }),
      key: optional(OPTION.eventKey),
    },
    async run({ client, since, until, status, key }, desk): Promise<ReplayCounts> {
      const wish: ReplayWish = {
        ...periodNamed({ since, until }),
        ...(status ? { status } : {}),
        ...(key ? { key } : {}),
      };
      await clientNamed(desk, client);
      const expected = await replayEvents(desk.db, client, { ...wish, dryRun: true });
      const bar = desk.progress("events", expected.queued + expected.not_redispatched);
      try {
        return await replayEvents(desk.db, client, { ...wish, onBatch: bar.advance });
      } finally {
        bar.end();
      }
    },
    show: ({ queued, not_redispatched: left }) =>
      left === 0
        ? `sent again: ${queued}`
        : `sent again: ${queued}; left: ${left}, whose key is switched off, or there is no webhook_url`,
  }),
];

function periodNamed(given: GivenPeriod & { since: string }) {
  const period = readPeriod(given);
  if ("field" in period) throw new UsageError(`--${period.field} ${period.problem}`);
  return period as typeof period & { since: Date };
}
