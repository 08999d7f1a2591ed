import { INBOX_PATH } from "../faults/fault.ts";
import type { Records } from "../records/records.ts";
import type { SandboxRequest } from "../server/route.ts";
import { Reply } from "../wire/call.ts";
import type { ControlRoute } from "./control-route.ts";

/** Routes that list what the platforms and the demo client's backend received. */
export function recordRoutes({ requests, inbox }: Record<"requests" | "inbox", Records>): ControlRoute[] {
  const acknowledge = () => new Reply({ received: true });
  return [
    {
      method: "GET",
      path: "/_sandbox/requests",
      summary:
        "lists the requests that the platforms received, newest first; `?clear=true` also deletes them",
      answer: (request) => listRecords(requests, request),
    },
    {
      method: "GET",
      path: INBOX_PATH,
      summary:
        "lists the requests that the demo client's backend received, newest first, with their `raw` bodies; `?clear=true` also deletes them",
      answer: (request) => listRecords(inbox, request, { withRaw: true }),
    },
    {
      method: "POST",
      path: INBOX_PATH,
      summary: "accepts every webhook as the demo client's backend",
      answer: acknowledge,
    },
    {
      method: "POST",
      path: `${INBOX_PATH}/*`,
      summary: "accepts every webhook at any path below the inbox",
      answer: acknowledge,
    },
  ];
}

async function listRecords(records: Records, { url }: SandboxRequest, options = {}): Promise<Reply> {
  const listed = records.list(options);
  if (url.searchParams.get("clear") === "true") records.clear();
  return new Reply({ data: await listed });
}
