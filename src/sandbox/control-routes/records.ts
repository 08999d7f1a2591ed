import { INBOX } from "../faults/fault.ts";
import type { Records } from "../records/records.ts";
import type { DoorRequest } from "../server/route.ts";
import { Reply } from "../wire/call.ts";
import type { DeveloperDoor } from "./control-route.ts";

/** What the platforms received, and the demo client's backend. */
export function recordDoors({ requests, inbox }: Record<"requests" | "inbox", Records>): DeveloperDoor[] {
  const received = () => new Reply({ received: true });
  return [
    {
      method: "GET",
      path: "/_sandbox/requests",
      summary: "what the platforms received, the newest first; ?clear=true forgets it",
      answer: (request) => shown(requests, request),
    },
    {
      method: "GET",
      path: INBOX,
      summary: "what the demo client's backend received, the newest first; ?clear=true forgets it",
      answer: (request) => shown(inbox, request, { withRaw: true }),
    },
    { method: "POST", path: INBOX, summary: "the demo client's backend", answer: received },
    { method: "POST", path: `${INBOX}/*`, summary: "likewise, by any other name", answer: received },
  ];
}

async function shown(records: Records, { url }: DoorRequest, options = {}): Promise<Reply> {
  const listed = records.shown(options);
  if (url.searchParams.get("clear") === "true") records.clear();
  return new Reply({ data: await listed });
}
