import { absoluteTime, now, relativeTime } from "../app/format.ts";
import { texts } from "../texts.ts";

interface TimeProps {
  at: string;
  /** For what is to happen then: a time that has passed means now. */
  isDue?: boolean;
}

const TIMESTAMP = /\bat (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/;

/** A sentence of the server, whose times are shown like all others: "at 2026-..." as "(2 min ago)". */
export const TextWithTimes = ({ text }: { text: string }) => (
  <>
    {text.split(TIMESTAMP).map((part, index) =>
      index % 2 === 0 ? (
        part
      ) : (
        <span key={part}>
          (<Time at={part} />)
        </span>
      ),
    )}
  </>
);

/** A time relative to now; the absolute one is shown on hover. */
export const Time = ({ at, isDue = false }: TimeProps) => (
  <time dateTime={at} title={absoluteTime(at)}>
    {isDue && Date.parse(at) <= now.value ? texts.now : relativeTime(at, now.value)}
  </time>
);
