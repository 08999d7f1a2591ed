import { texts } from "../texts.ts";
import { Time } from "./time.tsx";

export type Tone = "good" | "waiting" | "bad" | "none";

/** The tone of each status of messages, events, answers, batches and keys; a status without an entry has none. */
const TONES: Readonly<Record<string, Tone>> = {
  ...{ delivered: "good", read: "good", sent: "good", accepted: "good", ok: "good" },
  ...{ scheduled: "waiting", queued: "waiting", sending: "waiting", pending: "waiting", waiting: "waiting" },
  ...{ retry: "waiting", unknown: "waiting" },
  ...{ failed: "bad", rejected: "bad" },
  ...{ running: "good", paused: "waiting", active: "good", replaced: "waiting" },
};

export const toneOf = (status: string): Tone => TONES[status] ?? "none";

/** A status as a dot and a word, with the time since when it matters. Colour never speaks alone. */
export const Status = ({ status, at }: { status: string; at?: string | undefined }) => (
  <span class={`status ${toneOf(status)}`}>
    <span class="dot" aria-hidden="true" />
    <span>{texts.statuses[status] ?? status}</span>
    {at === undefined ? undefined : (
      <small>
        <Time at={at} />
      </small>
    )}
  </span>
);
