import { JsonText, parseJson, stringifyJson } from "../../runtime/json/json.ts";
import type { StreamedEvent } from "./event-stream.ts";
import type { HandlerAnswer } from "./forwarder.ts";

/** What happened to an event. */
export interface ShownEvent {
  event: StreamedEvent;
  at: Date;
  /** Undefined when events are only shown. */
  answer: HandlerAnswer | undefined;
  /** True when the user forwarded it again. */
  isAgain: boolean;
}

const MAX_EXCERPT_CHARS = 200;

/** Removes control characters, which could change the terminal, and marks that reverse the direction of a text. */
const printable = (text: string): string => text.replaceAll(/[^\P{Cc}\n\t]|\p{Bidi_Control}/gu, "");

const firstLineOf = (text: string): string =>
  printable(text.trimStart().split("\n", 1)[0] as string).slice(0, MAX_EXCERPT_CHARS);

const isFailure = ({ status }: HandlerAnswer) => status === null || status < 200 || status > 299;

const [RED, GREEN, DIM, RESET] = ["\u001b[31m", "\u001b[32m", "\u001b[2m", "\u001b[0m"];

/** One line for people: time, type, id, answer, path, milliseconds, and why it failed. */
export function toLine({ event, at, answer, isAgain }: ShownEvent, hasColours: boolean): string {
  const paint = (colour: string, text: string) => (hasColours ? colour + text + RESET : text);
  const outcome = answer && paint(isFailure(answer) ? RED : GREEN, String(answer.status ?? "failed"));
  return [
    paint(DIM, toClockTime(at)),
    printable(event.type).padEnd(TYPE_WIDTH),
    printable(event.eventId),
    outcome,
    printable(event.path ?? "/"),
    answer && `${answer.durationMs} ms`,
    event.isReplay ? "(replay)" : undefined,
    isAgain ? "(again)" : undefined,
    answer && isFailure(answer) ? firstLineOf(answer.error ?? answer.excerpt) : undefined,
  ]
    .filter((part) => part !== undefined && part !== "")
    .join("  ");
}

/** The length of most types. */
const TYPE_WIDTH = 23;

const toClockTime = (at: Date): string =>
  [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");

/** One line for programs. Line breaks in a payload are spaces between its values. */
export function toJsonLine({ event, at, answer, isAgain }: ShownEvent): string {
  return stringifyJson({
    at,
    event_id: event.eventId,
    type: event.type,
    key: event.key,
    path: event.path,
    replay: event.isReplay,
    ...(isAgain ? { again: true } : {}),
    status: answer?.status ?? null,
    duration_ms: answer?.durationMs ?? null,
    error: answer?.error ?? null,
    payload: new JsonText(event.payload.replaceAll(/[\r\n]/g, " ")),
  });
}

/** Marks an integer that JSON.stringify cannot write. */
const BIGINT_MARK = "\ue000integer:";

/** Indents JSON; integers beyond 2^53 keep their digits. */
export const indentJson = (json: string): string =>
  printable(
    JSON.stringify(
      parseJson(json),
      (_, value) => (typeof value === "bigint" ? BIGINT_MARK + value : value),
      2,
    ).replaceAll(/"\ue000integer:(-?\d+)"/g, "$1"),
  );
