import type { ComponentChildren } from "preact";
import type { DeliveryAttemptDto } from "../../../sdk/src/generated/types.ts";
import { CodeBlock } from "../components/code.tsx";
import { Status } from "../components/status.tsx";
import { texts } from "../texts.ts";

type Outcome = Pick<DeliveryAttemptDto, "status_code" | "error" | "duration_ms">;

/** True when the backend has taken the event. */
export const isDelivered = ({ status_code }: Pick<Outcome, "status_code">): boolean =>
  status_code !== null && status_code >= 200 && status_code < 300;

/** The outcome of an attempt to deliver an event, in a line. */
export const AttemptLine = ({
  attempt,
  at,
  children,
}: {
  attempt: Outcome;
  at?: string;
  children: ComponentChildren;
}) => (
  <span class="line">
    {children}
    <Status status={isDelivered(attempt) ? "delivered" : "failed"} at={at} />
    {attempt.status_code ?? attempt.error}
    <span class="soft">{Math.round(attempt.duration_ms)} ms</span>
  </span>
);

interface AnswerProps {
  attempt: Pick<DeliveryAttemptDto, "status_code" | "response_excerpt"> | undefined;
}

/** The beginning of the backend's answer. */
export const Answer = ({ attempt }: AnswerProps) =>
  attempt?.response_excerpt ? (
    <CodeBlock text={attempt.response_excerpt} label={texts.timeline.answer} />
  ) : (
    <p class="soft">
      {attempt?.status_code === null ? texts.timeline.noAnswerToEvent : texts.timeline.emptyAnswer}
    </p>
  );
