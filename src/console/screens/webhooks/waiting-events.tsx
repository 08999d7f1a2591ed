import type { QueueStatsDto } from "../../../../sdk/src/generated/types.ts";
import { call } from "../../app/api.ts";
import { useLoaded } from "../../app/loading.ts";
import { webhooksTexts as words } from "../../texts/webhooks.ts";
import type { EventKey } from "./config.ts";

/** Says what becomes of the events that wait, of one key or of all; with their number once it is known. */
export function WaitingEvents({ eventKey }: { eventKey?: EventKey }) {
  const { value } = useLoaded("", (signal) => call<QueueStatsDto>("GET", "/api/stats/queue", { signal }));
  const counts = value?.data.filter(({ key }) => eventKey === undefined || key === eventKey);
  return <p>{words.waiting(counts?.reduce((sum, { waiting }) => sum + waiting, 0))}</p>;
}
