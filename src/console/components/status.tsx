import type { ComponentChildren } from "preact";
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

interface StatusTextProps {
  tone: Tone;
  text: ComponentChildren;
  /** Since when, where it matters. */
  at?: string | undefined;
}

/** A dot in the colour of the tone, and a text: colour never speaks alone. */
export const StatusText = ({ tone, text, at }: StatusTextProps) => (
  <span class={`status ${tone}`}>
    <span class="dot" aria-hidden="true" />
    <span>{text}</span>
    {at === undefined ? undefined : (
      <small>
        <Time at={at} />
      </small>
    )}
  </span>
);

/** A status of messages, events or answers, in words. */
export const Status = ({ status, at }: { status: string; at?: string | undefined }) => (
  <StatusText tone={toneOf(status)} text={texts.statuses[status] ?? status} at={at} />
);
