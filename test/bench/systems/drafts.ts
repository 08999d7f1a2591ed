import type { EventDraft } from "../../../src/domain/events/record-events.ts";
import { JsonText } from "../../../src/runtime/json/json.ts";

const [PHONE, TEXT] = ["5511988887777", "Has my order been shipped yet? It should have arrived on Monday."];

/** A received message, as the chat platform's webhook leads to. */
export const draftFor = (clientId: string, number: number): EventDraft => ({
  clientId,
  type: "message.received",
  key: "chatapp",
  data: {
    platform_message_id: `wamid.bench${number}`,
    from: { id: PHONE, name: "Maria Silva" },
    type: "text",
    content: { body: TEXT },
  },
  raw: new JsonText(
    JSON.stringify({
      from: PHONE,
      id: `wamid.bench${number}`,
      timestamp: "1760000000",
      type: "text",
      text: { body: TEXT },
    }),
  ),
});

/** Events of all clients in turn. */
export const draftsFor = (clientIds: readonly string[], count: number): EventDraft[] =>
  Array.from({ length: count }, (_, index) => draftFor(clientIds[index % clientIds.length] as string, index));
