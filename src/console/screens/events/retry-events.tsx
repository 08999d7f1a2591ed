import { useState } from "preact/hooks";
import type { EventDto, RetriedEventsDto, RetryEventReply } from "../../../../sdk/src/generated/types.ts";
import { call, type Problem, toProblem } from "../../app/api.ts";
import { absoluteTime, formatCount } from "../../app/format.ts";
import { useAction, useLoaded } from "../../app/loading.ts";
import { query } from "../../app/router.ts";
import { Question } from "../../components/dialog.tsx";
import { Fact, Facts } from "../../components/facts.tsx";
import { Loading, ProblemNotice } from "../../components/notices.tsx";
import { showProblemToast, showToast } from "../../components/toast.tsx";
import { texts } from "../../texts.ts";

const words = texts.events.retry;

const retryEvent = (id: string): Promise<RetryEventReply> =>
  call("POST", `/api/webhooks/events/${encodeURIComponent(id)}/retry`);

interface RetryProps {
  onDone(): Promise<unknown>;
}

/** Sends one event again; for an event that the backend has, after a question. */
export function RetryEvent({ event, onDone }: RetryProps & { event: EventDto }) {
  const [isAsked, setAsked] = useState(false);
  const isDelivered = event.status === "delivered";
  async function retry(): Promise<void> {
    const { redispatched } = await retryEvent(event.id);
    setAsked(false);
    showToast(redispatched ? words.one : words.oneHeld);
    await onDone();
  }
  const action = useAction(retry);
  return (
    <>
      {action.problem && <ProblemNotice problem={action.problem} />}
      <button
        type="button"
        class={isDelivered ? undefined : "primary"}
        aria-disabled={action.isRunning}
        onClick={() => (isDelivered ? setAsked(true) : action.run())}
      >
        {words.action}
      </button>
      {isAsked && (
        <Question
          title={words.deliveredTitle}
          action={words.action}
          act={retry}
          onClose={() => setAsked(false)}
        >
          <p>{words.deliveredConsequence}</p>
        </Question>
      )}
    </>
  );
}

/** Offers to send the selected events again. */
export function RetrySelected({ ids, onDone }: RetryProps & { ids: readonly string[] }) {
  const action = useAction(async () => {
    const { queued, held, problem } = await retryEach(ids);
    if (problem) showProblemToast(problem);
    else showToast(words.done(queued, held));
    await onDone();
  });
  if (ids.length === 0) return null;
  return (
    <div class="selection">
      <span>{words.selected(ids.length)}</span>
      <button type="button" class="primary" aria-disabled={action.isRunning} onClick={action.run}>
        {words.action}
      </button>
    </div>
  );
}

/** One after the other, until one cannot be retried. */
async function retryEach(
  ids: readonly string[],
): Promise<{ queued: number; held: number; problem?: Problem }> {
  let queued = 0;
  for (const [index, id] of ids.entries()) {
    try {
      if ((await retryEvent(id)).redispatched) queued += 1;
    } catch (thrown) {
      return { queued, held: index - queued, problem: toProblem(thrown) };
    }
  }
  return { queued, held: ids.length - queued };
}

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;

/** Statuses whose events a bulk retry sends again. */
const isBulkStatus = (status: string | undefined) =>
  status === undefined || status === "failed" || status === "skipped";

/** Offers to send all events again that match the filters; not while they show only events that need none. */
export function RetryMatching({ onDone }: RetryProps) {
  const [isAsked, setAsked] = useState(false);
  if (!isBulkStatus(query.value.status)) return null;
  return (
    <>
      <button type="button" onClick={() => setAsked(true)}>
        {words.matching}
      </button>
      {isAsked && <RetryQuestion onDone={onDone} onClose={() => setAsked(false)} />}
    </>
  );
}

/** The filters of the list as a bulk retry takes them; its period has a beginning. */
function bulkFilters(): Record<string, string | undefined> {
  const { status, key, type, channel_id, message_id, since, until } = query.value;
  const start = since ?? new Date(Date.now() - DEFAULT_DAYS * DAY_MS).toISOString();
  return { status, key, type, channel_id, message_id, since: start, until };
}

function RetryQuestion({ onDone, onClose }: RetryProps & { onClose(): void }) {
  const [filters] = useState(bulkFilters);
  const count = useLoaded("", (signal) =>
    call<RetriedEventsDto>("POST", "/api/webhooks/events/retry", {
      body: { ...filters, dry_run: true },
      signal,
    }),
  );
  const queued = count.value?.queued ?? 0;
  return (
    <Question
      title={words.matchingTitle(query.value.status)}
      action={queued > 0 ? words.count(queued) : undefined}
      act={async () => {
        const { queued, not_redispatched } = await call<RetriedEventsDto>(
          "POST",
          "/api/webhooks/events/retry",
          {
            body: filters,
          },
        );
        showToast(words.done(queued, not_redispatched));
        onClose();
        await onDone();
      }}
      onClose={onClose}
    >
      <Loading loaded={count}>
        {({ queued, not_redispatched, by_type }) => (
          <>
            <p>{queued === 0 ? words.nothing : words.consequence(queued)}</p>
            <Facts>
              {Object.entries(by_type).map(([type, events]) => (
                <Fact key={type} name={type}>
                  {formatCount(events)}
                </Fact>
              ))}
              <Fact name={texts.since} isWide>
                {absoluteTime(filters.since ?? "")}
              </Fact>
            </Facts>
            {not_redispatched > 0 && <p class="soft">{words.held(not_redispatched)}</p>}
          </>
        )}
      </Loading>
    </Question>
  );
}
