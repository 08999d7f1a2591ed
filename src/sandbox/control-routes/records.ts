import { INBOX_PATH } from "../faults/fault.ts";
import type { Records } from "../records/records.ts";
import type { SandboxRequest } from "../server/route.ts";
import { Reply } from "../wire/call.ts";
import type { ControlRoute } from "./control-route.ts";

/** What the platforms received, and the demo client's backend. */
export function recordRoutes({ requests, inbox }: Record<"requests" | "inbox", Records>): ControlRoute[] {
  const acknowledge = () => new Reply({ received: true });
  return [
    {
      method: "GET",
      path: "/_sandbox/requests",
      summary: "what the platforms received, the newest first; ?clear=true forgets it",
      answer: (request) => listRecords(requests, request),
    },
    {
      method: "GET",
      path: INBOX_PATH,
      summary: "what the demo client's backend received, the newest first; ?clear=true forgets it",
      answer: (request) => listRecords(inbox, request, { withRaw: true }),
    },
    { method: "POST", path: INBOX_PATH, summary: "the demo client's backend", answer: acknowledge },
    { method: "POST", path: `${INBOX_PATH}/*`, summary: "likewise, by any other name", answer: acknowledge },
  ];
}

async function listRecords(records: Records, { url }: SandboxRequest, options = {}): Promise<Reply> {
  const listed = records.list(options);
  if (url.searchParams.get("clear") === "true") records.clear();
  return new Reply({ data: await listed });
}
