import { absoluteTime, now, relativeTime } from "../app/format.ts";
import { texts } from "../texts.ts";

interface TimeProps {
  at: string;
  /** For what is to happen then: a time that has passed means now. */
  isDue?: boolean;
}

/** A time relative to now; the absolute one is shown on hover. */
export const Time = ({ at, isDue = false }: TimeProps) => (
  <time dateTime={at} title={absoluteTime(at)}>
    {isDue && Date.parse(at) <= now.value ? texts.now : relativeTime(at, now.value)}
  </time>
);
