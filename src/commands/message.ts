import { explainMessage } from "../domain/messages/explain-message.ts";
import { readTimeline } from "../domain/messages/message-timeline.ts";
import { awaitConnection } from "../queue/redis.ts";
import { tagsOf } from "../queue/wake-ups.ts";
import { SECOND } from "../runtime/durations.ts";
import type { MessageDto, MessageErrorDto, MessageExplanationDto } from "../schema/messages.ts";
import { MAX_TIMELINE_ENTRIES, type TimelineEntryDto } from "../schema/messages.ts";
import { findOwner } from "../store/tenants/clients.ts";
import { type Command, CommandError, defineCommand } from "./command-line/command.ts";
import { OPTION, positional } from "./command-line/options.ts";
import { toText } from "./command-line/output.ts";

const CONNECT_TIMEOUT_MS = 5 * SECOND;

export const MESSAGE_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "message show",
    summary: "Show a message and what happened to it, of whichever client",
    options: { id: positional(OPTION.message) },
    async run({ id }, { db, redis, config, say }) {
      const clientId = await findOwner(db, "messages", id);
      const found = clientId && (await readTimeline(db, clientId, id));
      if (!clientId || !found) throw noMessage(id);
      if (found.timeline.length >= MAX_TIMELINE_ENTRIES)
        say(`Later attempts to deliver its events are left out: these are ${MAX_TIMELINE_ENTRIES} entries`);
      await awaitConnection(redis, CONNECT_TIMEOUT_MS);
      const explanation = await explainMessage({ db, redis, tags: tagsOf(config) }, clientId, id);
      if (!explanation) throw noMessage(id); // deleted meanwhile
      return { message: { client_id: clientId, ...found.message }, timeline: found.timeline, explanation };
    },
    show: ({ message, timeline, explanation }) =>
      [showMessage(message), showExplanation(explanation), showTimeline(timeline)].join("\n\n"),
  }),
];

const noMessage = (id: string) => new CommandError(`there is no message ${id}`);

/** The statuses are part of the timeline. */
const showMessage = ({ statuses, error, ...fields }: MessageDto): string =>
  toText({ ...fields, error: error && describeError(error) });

/** Without what the message shows too, such as the error of a failed one. */
const showExplanation = ({
  message_id,
  batch_id,
  status,
  platform_error,
  ...fields
}: MessageExplanationDto): string =>
  toText({
    ...fields,
    ...(fields.who_acts === "you" ? { who_acts: "client" } : {}), // the explanation speaks to the client
    ...(platform_error && status !== "failed" ? { platform_error: describeError(platform_error) } : {}),
  });

const showTimeline = (timeline: readonly TimelineEntryDto[]): string =>
  toText({ data: timeline.map((entry) => ({ at: entry.at, type: entry.type, details: describe(entry) })) });

function describe(entry: TimelineEntryDto): string {
  switch (entry.type) {
    case "accepted":
      return entry.request_id ?? "";
    case "status":
      return entry.status;
    case "event":
      return `${entry.event_id} ${entry.event_type}`;
    case "platform_attempt":
      return joinParts([
        `attempt ${entry.attempt} ${entry.outcome}`,
        ...outcomeParts(entry),
        entry.error && describeError(entry.error),
      ]);
    case "delivery_attempt":
      return joinParts([`${entry.event_id} attempt ${entry.attempt}`, ...outcomeParts(entry), entry.error]);
  }
}

const outcomeParts = (attempt: { status_code: number | null; duration_ms: number | null }) => [
  attempt.status_code === null ? null : `HTTP ${attempt.status_code}`,
  attempt.duration_ms === null ? null : `${attempt.duration_ms} ms`,
];

const joinParts = (parts: readonly (string | null)[]) => parts.filter((part) => part !== null).join(", ");

const describeError = ({ code, title, message, details }: MessageErrorDto) =>
  `${code}: ${message ?? title ?? "no reason"}${details ? ` (${details})` : ""}`;
