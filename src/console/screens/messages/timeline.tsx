import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { EventDetailDto, TimelineEntryDto } from "../../../../sdk/src/generated/types.ts";
import { call } from "../../app/api.ts";
import { absoluteTime, clockTime, dayOf } from "../../app/format.ts";
import { useLoaded } from "../../app/loading.ts";
import { may } from "../../app/session.ts";
import { Id } from "../../components/code.tsx";
import { Fact, Facts } from "../../components/facts.tsx";
import { Loading } from "../../components/notices.tsx";
import { Status, type Tone, toneOf } from "../../components/status.tsx";
import { texts } from "../../texts.ts";
import { Answer, AttemptLine, isDelivered } from "../delivery-attempt.tsx";

type Entry<T extends TimelineEntryDto["type"]> = Extract<TimelineEntryDto, { type: T }>;

const words = texts.timeline;

/** What happened to a message, oldest first, as the server stored it. Attempts to deliver an event stand below it. */
export function Timeline({ entries }: { entries: readonly TimelineEntryDto[] }) {
  const attemptsOf = (id: string) =>
    entries.filter(
      (entry): entry is Entry<"delivery_attempt"> =>
        entry.type === "delivery_attempt" && entry.event_id === id,
    );
  return (
    <ol class="timeline">
      {withDays(entries.filter(({ type }) => type !== "delivery_attempt")).map(({ entry, day }, index) => (
        <Point key={index} at={entry.at} day={day} tone={pointTone(entry)}>
          <EntryLine entry={entry} />
          {entry.type === "event" && attemptsOf(entry.event_id).length > 0 && (
            <ol class="timeline">
              {attemptsOf(entry.event_id).map((attempt) => (
                <Point key={attempt.attempt} at={attempt.at} day={undefined} tone={deliveryTone(attempt)}>
                  <DeliveryLine attempt={attempt} />
                </Point>
              ))}
            </ol>
          )}
        </Point>
      ))}
    </ol>
  );
}

/** The day is shown where it differs from that of the entry before. */
const withDays = (entries: readonly TimelineEntryDto[]) =>
  entries.map((entry, index) => {
    const before = entries[index - 1];
    const day = dayOf(entry.at);
    return { entry, day: before && dayOf(before.at) === day ? undefined : day };
  });

interface PointProps {
  at: string;
  day: string | undefined;
  tone: Tone;
  children: ComponentChildren;
}

const Point = ({ at, day, tone, children }: PointProps) => (
  <li class={tone}>
    {day && <p class="day">{day}</p>}
    <span class="dot" aria-hidden="true" />
    <time dateTime={at} title={absoluteTime(at)}>
      {clockTime(at)}
    </time>
    <div class="point">{children}</div>
  </li>
);

function pointTone(entry: TimelineEntryDto): Tone {
  switch (entry.type) {
    case "platform_attempt":
      return toneOf(entry.outcome);
    case "status":
      return toneOf(entry.status);
    default:
      return "none";
  }
}

const deliveryTone = (attempt: Entry<"delivery_attempt">): Tone => (isDelivered(attempt) ? "good" : "bad");

function EntryLine({ entry }: { entry: TimelineEntryDto }) {
  switch (entry.type) {
    case "accepted":
      return (
        <p class="line">
          {words.accepted}
          {entry.request_id && (
            <span class="soft">
              {texts.request} <Id id={entry.request_id} />
            </span>
          )}
        </p>
      );
    case "platform_attempt":
      return <PlatformLine attempt={entry} />;
    case "status":
      return (
        <p>
          <Status status={entry.status} />
        </p>
      );
    case "event":
      return (
        <p class="line">
          {words.event} <code>{entry.event_type}</code>
          {may("webhooks:manage") && <a href={`/console/events/${entry.event_id}`}>{words.openEvent}</a>}
        </p>
      );
    case "delivery_attempt":
      return null;
  }
}

const milliseconds = (duration: number | null) => (duration === null ? "" : `${Math.round(duration)} ms`);

function PlatformLine({ attempt }: { attempt: Entry<"platform_attempt"> }) {
  const { error, outcome, status_code, duration_ms } = attempt;
  const line = (
    <span class="line">
      {words.platformAttempt(attempt.attempt)}
      <Status status={outcome} />
      {error ? <code>{error.code}</code> : status_code}
      {error?.title}
      <span class="soft">{milliseconds(duration_ms)}</span>
    </span>
  );
  if (!error) return <p>{line}</p>;
  return (
    <details>
      <summary>{line}</summary>
      <Facts>
        {(["code", "title", "message", "details"] as const).map(
          (name) =>
            error[name] !== null && (
              <Fact key={name} name={words.error[name]}>
                {error[name]}
              </Fact>
            ),
        )}
        <Fact name={words.error.status}>{status_code ?? words.noAnswer}</Fact>
      </Facts>
    </details>
  );
}

function DeliveryLine({ attempt }: { attempt: Entry<"delivery_attempt"> }) {
  const [isOpen, setOpen] = useState(false);
  const line = <AttemptLine attempt={attempt}>{words.deliveryAttempt(attempt.attempt)}</AttemptLine>;
  if (!may("webhooks:manage")) return <p>{line}</p>;
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{line}</summary>
      {isOpen && <StoredAnswer eventId={attempt.event_id} attempt={attempt.attempt} />}
    </details>
  );
}

/** The answer of the backend; the timeline itself does not contain it. */
function StoredAnswer({ eventId, attempt }: { eventId: string; attempt: number }) {
  const loaded = useLoaded(`${eventId} ${attempt}`, (signal) =>
    call<EventDetailDto>("GET", `/api/webhooks/events/${eventId}`, { signal }),
  );
  return (
    <Loading loaded={loaded}>
      {({ url, delivery_attempts }) => (
        <>
          <p class="soft">
            <code>{url}</code>
          </p>
          <Answer attempt={delivery_attempts.find((stored) => stored.attempt === attempt)} />
        </>
      )}
    </Loading>
  );
}
