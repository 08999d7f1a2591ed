import { tryParseJson } from "../runtime/json/json.ts";
import { perSandbox } from "./context.ts";
import { Reply } from "./graph/node.ts";
import type { SandboxRequest } from "./server/routes.ts";

/** The oldest ids are forgotten beyond it. */
const MAX_REMEMBERED_IDS = 10_000;

const GONE = 410;

type Delivery = Pick<SandboxRequest, "headers" | "body">;

/** The demo client's backend. It accepts every webhook, except for events about a message to a magic recipient. */
interface DemoBackend {
  /** Refuses the first delivery of each event about the message with this id of the service. */
  refuseEventsAbout(messageId: string): void;
  answer(delivery: Delivery): Reply;
}

function createDemoBackend(): DemoBackend {
  const messageIds = new Set<string>();
  const refusedEventIds = new Set<string>();
  const isRefused = ({ headers, body }: Delivery): boolean => {
    const eventId = headers["webhook-id"];
    if (messageIds.size === 0 || typeof eventId !== "string" || refusedEventIds.has(eventId)) return false;
    const messageId = messageIdIn(body);
    if (messageId === undefined || !messageIds.has(messageId)) return false;
    remember(refusedEventIds, eventId);
    return true;
  };
  return {
    refuseEventsAbout: (messageId) => remember(messageIds, messageId),
    answer: (delivery) =>
      isRefused(delivery) ? new Reply({ received: false }, { status: GONE }) : new Reply({ received: true }),
  };
}

/** The events about a sent message have its id, but not all have its recipient. */
function messageIdIn(body: Buffer): string | undefined {
  const event = tryParseJson(body.toString("utf8")) as { data?: { message_id?: string } } | null | undefined;
  return event?.data?.message_id;
}

function remember(ids: Set<string>, id: string): void {
  ids.add(id);
  for (const oldest of ids) {
    if (ids.size <= MAX_REMEMBERED_IDS) return;
    ids.delete(oldest);
  }
}

export const demoBackendOf = perSandbox(createDemoBackend);
