import type { Reading } from "../../platforms/webhooks/reading.ts";
import type { EventDraft } from "../events/record-events.ts";

/** An event to be for one of its owners, and what it was read from. */
export interface InboundDraft extends EventDraft {
  reading: Reading;
}
