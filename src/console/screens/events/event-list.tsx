import { useState } from "preact/hooks";
import type { EventDto } from "../../../../sdk/src/generated/types.ts";
import { shortId } from "../../app/format.ts";
import { usePolling } from "../../app/loading.ts";
import { query } from "../../app/router.ts";
import { may } from "../../app/session.ts";
import { type Filter, Filters, wordOptions } from "../../components/filters.tsx";
import { Heading } from "../../components/heading.tsx";
import { Empty, Loading } from "../../components/notices.tsx";
import { Pager } from "../../components/pager.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { texts } from "../../texts.ts";
import { EVENT_STATISTICS, ListActivity } from "../activity.tsx";
import { channelName, channelOptions, channels } from "../channel-names.ts";
import { EVENT_TYPES } from "../event-types.ts";
import { useLiveList } from "../live-list.ts";
import { NewRows } from "../new-rows.tsx";
import { LiveSwitch, useLive } from "./live-switch.tsx";
import { RetryMatching, RetrySelected } from "./retry-events.tsx";

const words = texts.events;

const STATUSES = ["failed", "pending", "delivered", "skipped"] as const;
const KEYS = ["chatapp", "photoapp", "socialapp", "marketing", "publishing", "embedded_signup"] as const;

const COLUMNS: readonly Column<EventDto>[] = [
  { title: words.columns.type, isMain: true, cell: ({ type }) => <span class="name">{type}</span> },
  { title: words.columns.status, isState: true, cell: (event) => <DeliveryState event={event} /> },
  { title: words.columns.answer, cell: (event) => <LastAnswer event={event} /> },
  {
    title: words.columns.channel,
    cell: ({ channel_id, ad_account_id }) => (channel_id ? channelName(channel_id) : ad_account_id),
  },
  { title: words.columns.recorded, cell: ({ recorded_at }) => <Time at={recorded_at} /> },
  { title: words.columns.id, isMinor: true, cell: ({ id }) => <code class="name">{shortId(id)}</code> },
];

const DeliveryState = ({ event }: { event: EventDto }) => (
  <>
    <Status status={event.status} />
    {event.skip_reason && <small class="soft"> {words.skipReasons[event.skip_reason]}</small>}
    {event.status === "pending" && event.next_attempt_at && event.attempts > 0 && (
      <small class="soft">
        {" "}
        {words.nextAttempt} <Time at={event.next_attempt_at} isDue />
      </small>
    )}
  </>
);

const LastAnswer = ({ event: { attempts, last_error, last_status_code } }: { event: EventDto }) =>
  attempts === 0 ? null : (
    <span class="name">
      {last_error ?? last_status_code} <small class="soft">{words.attempts(attempts)}</small>
    </span>
  );

const filters = (): Filter[] => [
  { name: "status", label: words.columns.status, options: wordOptions(STATUSES) },
  { name: "type", label: words.columns.type, options: wordOptions(EVENT_TYPES) },
  { name: "key", label: words.columns.key, options: wordOptions(KEYS), isMinor: true },
  { name: "channel_id", label: words.columns.channel, options: channelOptions(channels.value ?? []) },
  { name: "message_id", label: words.messageId, isMinor: true },
  { name: "since", label: texts.since, isTime: true, isMinor: true },
  { name: "until", label: texts.until, isTime: true, isMinor: true },
];

const REFRESH_PENDING_MS = 5_000;

export function EventList() {
  const list = useLiveList<EventDto>({
    path: "/api/webhooks/events",
    filters: filters().map(({ name }) => name),
    idOf: ({ id }) => id,
  });
  const state = useLive({ isPossible: list.isOpenEnded, refresh: list.refresh });
  const rows = list.loaded.value?.data ?? [];
  const isAnyPending = rows.some(({ status }) => status === "pending");
  usePolling(state !== "stopped" && isAnyPending, REFRESH_PENDING_MS, list.refresh);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const isRetryable = (id: string) =>
    rows.some((row) => row.id === id && (row.status === "failed" || row.status === "skipped"));
  const chosen = [...selected].filter((id) => rows.some((row) => row.id === id));
  return (
    <>
      <Heading
        title={words.title}
        actions={
          <>
            <LiveSwitch isPossible={list.isOpenEnded} state={state} />
            <RetryMatching onDone={list.refresh} />
          </>
        }
      />
      <ListActivity statistics={EVENT_STATISTICS} />
      <Filters filters={filters()} />
      <NewRows list={list} />
      <Loading loaded={list.loaded}>
        {({ data, paging }) => (
          <>
            {data.length === 0 ? (
              <NoEvents />
            ) : (
              <Table
                caption={words.title}
                columns={COLUMNS}
                rows={data}
                idOf={({ id }) => id}
                hrefOf={({ id }) => `/console/events/${id}`}
                selection={{ ids: selected, isSelectable: isRetryable, change: setSelected }}
              />
            )}
            <Pager paging={paging} />
          </>
        )}
      </Loading>
      <RetrySelected
        ids={chosen}
        onDone={async () => {
          setSelected(new Set());
          await list.refresh();
        }}
      />
    </>
  );
}

const NoEvents = () =>
  Object.keys(query.value).length > 0 ? (
    <Empty title={words.noneMatch} />
  ) : (
    <Empty title={words.none}>
      {may("messages:send") && (
        <p>
          <a href="/console/messages/new">{texts.messages.sendTest}</a>
        </p>
      )}
    </Empty>
  );
