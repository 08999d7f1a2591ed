import type { Reading } from "../../platforms/webhooks/reading.ts";
import type { EventDraft } from "../events/record-events.ts";

/** An event draft for one owner, and the reading that it was made from. */
export interface InboundDraft extends EventDraft {
  reading: Reading;
}
