import { createMessageIntake } from "../../../src/domain/messages/accept-message.ts";
import { newId } from "../../../src/runtime/ids.ts";
import type { NewMessage } from "../../../src/store/messages/accept-messages.ts";
import type { BenchContext } from "../frame/context.ts";
import { serverProcesses } from "../frame/cpu.ts";
import { startHerald } from "../frame/processes.ts";
import { type BacklogSystem, suspension, type WrittenCounts } from "./backlog-system.ts";
import { openProducer } from "./herald-producer.ts";
import type { OutgoingText } from "./send-system.ts";

interface SendOptions {
  slots: number;
  perSecond: number;
  platformPort: number;
}

const COUNT_WRITTEN = `
  select
    count(*) filter (where status = 'accepted')::integer as done,
    coalesce(sum(attempts), 0)::integer as attempts
  from messages
  where id >= $1`;

/** Starts a dispatcher. Messages enter through the code with which web accepts them. */
export async function startHeraldSends(
  context: BenchContext,
  { slots, perSecond, platformPort }: SendOptions,
): Promise<BacklogSystem<OutgoingText>> {
  const { pid } = await startHerald(context, "dispatcher", /process\.ready/, {
    DISPATCHER_CONCURRENCY: String(slots),
    CHANNEL_RATE_PER_SECOND: String(perSecond),
    CHAT_PLATFORM_URL: `http://127.0.0.1:${platformPort}/v26.0`,
  });
  const producer = await openProducer(context);
  const intake = createMessageIntake({ db: producer.db, notifier: producer.messages, timeoutMs: 60_000 });
  return {
    name: "herald",
    processes: { dispatcher: pid, ...(await serverProcesses(context)) },
    async enqueue(texts) {
      const messages = texts.map(toNewMessage);
      const outcomes = await Promise.all(messages.map(intake.accept));
      const refused = outcomes.find(({ outcome }) => outcome !== "accepted");
      if (refused) throw new Error(`a message was not accepted: ${refused.outcome}`);
      return messages.map(({ id }) => id);
    },
    async countWritten(firstId) {
      const [row] = await context.db.query<WrittenCounts>(COUNT_WRITTEN, [firstId]);
      return row ?? { done: 0, attempts: 0 };
    },
    ...suspension(pid),
  };
}

const toNewMessage = ({ channel, to, body }: OutgoingText): NewMessage => ({
  client_id: channel.clientId,
  id: newId("msg"),
  channel_id: channel.id,
  recipient: to,
  recipient_kind: "phone",
  type: "text",
  content: JSON.stringify({ body }),
  options: null,
  external_ref: null,
  request_id: newId("req"),
  send_at: null,
  status: "queued" as const,
  key_id: null,
  fingerprint: null,
  reply_sealed: null,
});
