import type { DeliveryAttemptDto, EventDetailDto } from "../../../../sdk/src/generated/types.ts";
import { call } from "../../app/api.ts";
import { useLoaded, usePolling } from "../../app/loading.ts";
import { hrefOf } from "../../app/router.ts";
import { may } from "../../app/session.ts";
import { Id } from "../../components/code.tsx";
import { Fact, Facts } from "../../components/facts.tsx";
import { Heading } from "../../components/heading.tsx";
import { JsonView } from "../../components/json-tree.tsx";
import { Loading } from "../../components/notices.tsx";
import { Status } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { texts } from "../../texts.ts";
import { channelName } from "../channel-names.ts";
import { Answer, AttemptLine, isDelivered } from "../delivery-attempt.tsx";
import { RetryEvent } from "./retry-events.tsx";

const words = texts.events;

const REFRESH_MS = 1_000;
const REFRESH_LATER_MS = 10_000;
const SOON_MS = 15_000;

/** An attempt is in flight or follows soon; others may follow hours later. */
const isDueSoon = ({ next_attempt_at }: EventDetailDto): boolean =>
  next_attempt_at === null || Date.parse(next_attempt_at) - Date.now() < SOON_MS;

/** One event: its payload, and the attempts to deliver it, newest first. */
export function EventScreen({ id }: { id: string }) {
  const loaded = useLoaded(id, (signal) =>
    call<EventDetailDto>("GET", `/api/webhooks/events/${encodeURIComponent(id)}`, { signal }),
  );
  const event = loaded.value;
  const refreshMs = event && isDueSoon(event) ? REFRESH_MS : REFRESH_LATER_MS;
  usePolling(event?.status === "pending", refreshMs, loaded.reload);
  return (
    <>
      <Heading
        title={id}
        parent={{ title: words.title, href: "/console/events" }}
        actions={event && <RetryEvent event={event} onDone={loaded.reload} />}
      >
        <Id id={id} />
      </Heading>
      <Loading loaded={loaded}>
        {(event) => (
          <>
            <EventFacts event={event} />
            <div class="columns">
              <JsonView label={words.payload} value={event.payload} />
              <div>
                <section class="panel">
                  <h2>{words.attemptsTitle}</h2>
                  <Attempts event={event} />
                </section>
                <section class="panel">
                  <h2>{words.headers}</h2>
                  <Facts layout="rows">
                    {Object.entries(event.headers).map(([name, value]) => (
                      <Fact key={name} name={<code>{name}</code>} isWide>
                        <code>{value}</code>
                      </Fact>
                    ))}
                  </Facts>
                  <p class="soft">{words.headersNote}</p>
                </section>
              </div>
            </div>
          </>
        )}
      </Loading>
    </>
  );
}

const EventFacts = ({ event }: { event: EventDetailDto }) => {
  const messageId = messageIdOf(event);
  return (
    <Facts>
      <Fact name={words.columns.status}>
        <Status status={event.status} at={event.delivered_at ?? undefined} />
        {event.skip_reason && <span class="soft"> {words.skipReasons[event.skip_reason]}</span>}
      </Fact>
      <Fact name={words.columns.type}>{event.type}</Fact>
      {event.channel_id && (
        <Fact name={words.columns.channel}>
          <a href={hrefOf("/console/events", { channel_id: event.channel_id })}>
            {channelName(event.channel_id)}
          </a>
        </Fact>
      )}
      {messageId && may("messages:send") && (
        <Fact name={words.message}>
          <a href={`/console/messages/${messageId}`}>{words.openMessage}</a>
        </Fact>
      )}
      <Fact name={words.columns.recorded}>
        <Time at={event.recorded_at} />
      </Fact>
      {event.url && (
        <Fact name={words.url} isWide>
          <code>{event.url}</code>
        </Fact>
      )}
    </Facts>
  );
};

const MESSAGE_ID = /^msg_[0-9a-z]+$/;

/** The outbound message that the event is about, if it is about one. */
function messageIdOf({ payload }: EventDetailDto): string | undefined {
  const id = String((payload.data as { message_id?: unknown } | null)?.message_id);
  return MESSAGE_ID.test(id) ? id : undefined;
}

function Attempts({ event }: { event: EventDetailDto }) {
  const newestFirst = event.delivery_attempts.toSorted((one, other) => other.attempt - one.attempt);
  return (
    <>
      {event.status === "pending" && (
        <p class="status waiting" role="status">
          <span class="dot" aria-hidden="true" />
          {event.next_attempt_at ? (
            <span>
              {words.nextAttempt} <Time at={event.next_attempt_at} isDue />
            </span>
          ) : (
            words.inFlight
          )}
        </p>
      )}
      {newestFirst.length === 0 && event.status !== "pending" && <p class="soft">{words.noAttempts}</p>}
      <ol class="attempts">
        {newestFirst.map((attempt) => (
          <li key={attempt.attempt}>
            <Attempt attempt={attempt} />
          </li>
        ))}
      </ol>
    </>
  );
}

const Attempt = ({ attempt }: { attempt: DeliveryAttemptDto }) => (
  <details open={!isDelivered(attempt)}>
    <summary>
      <AttemptLine attempt={attempt} at={attempt.at}>
        {attempt.attempt}
      </AttemptLine>
    </summary>
    <Answer attempt={attempt} />
  </details>
);
