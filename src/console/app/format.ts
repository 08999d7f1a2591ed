import { signal } from "@preact/signals";
import { texts } from "../texts.ts";

/** The present time, in steps that are short enough for relative times. */
export const now = signal(Date.now());

const NOW_STEP_MS = 5_000;

/** Keeps `now` up to date. Call it once. */
export function startClock(): void {
  setInterval(() => {
    if (document.visibilityState === "visible") now.value = Date.now();
  }, NOW_STEP_MS);
  document.addEventListener("visibilitychange", () => {
    now.value = Date.now();
  });
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const UNITS = [
  { name: "day", ms: DAY },
  { name: "hour", ms: HOUR },
  { name: "minute", ms: MINUTE },
  { name: "second", ms: SECOND },
] as const;

/** `3 min ago`, `in 2 h`; `just now` within the last seconds. */
export function relativeTime(at: string, present: number): string {
  const distance = present - Date.parse(at);
  const size = Math.abs(distance);
  if (size < 5 * SECOND) return texts.times.justNow;
  const { name, ms } = UNITS.find((unit) => size >= unit.ms) ?? UNITS[3];
  const duration = texts.times[name](Math.floor(size / ms));
  return distance < 0 ? texts.times.ahead(duration) : texts.times.ago(duration);
}

const DATE_AND_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** The time in the reader's zone, with the zone. */
export const absoluteTime = (at: string): string =>
  `${DATE_AND_TIME.format(new Date(at))} (${Intl.DateTimeFormat().resolvedOptions().timeZone})`;

const pad = (value: number, length = 2) => String(value).padStart(length, "0");

/** `14:02:11.204`, in the reader's zone. */
export function clockTime(at: string): string {
  const time = new Date(at);
  const parts = [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => pad(part));
  return `${parts.join(":")}.${pad(time.getMilliseconds(), 3)}`;
}

/** `18 Nov 2026`, in the reader's zone. */
export const dayOf = (at: string): string =>
  new Date(at).toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" });

/** The value of a datetime-local field for a time, and back; empty for none. */
export function toLocalInput(at: string | undefined): string {
  const time = new Date(at ?? "");
  if (Number.isNaN(time.getTime())) return "";
  const date = [pad(time.getFullYear(), 4), pad(time.getMonth() + 1), pad(time.getDate())].join("-");
  return `${date}T${pad(time.getHours())}:${pad(time.getMinutes())}`;
}

/** A field has whole minutes: the end of a period is the end of its minute. */
export function fromLocalInput(value: string, isEnd: boolean): string {
  const time = Date.parse(value);
  return Number.isNaN(time) ? "" : new Date(time + (isEnd ? MINUTE - 1 : 0)).toISOString();
}

const SHORT_ID_LENGTH = 16;

/** `msg_01m7…45v`: the prefix and the end, which differ between ids of the same minute. */
export const shortId = (id: string): string =>
  id.length <= SHORT_ID_LENGTH ? id : `${id.slice(0, id.indexOf("_") + 5)}…${id.slice(-5)}`;

export const formatCount = (count: number): string => count.toLocaleString("en");

/** Quotes a text for a POSIX shell. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
