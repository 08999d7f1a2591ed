import type { MessageDto } from "../../../../sdk/src/generated/types.ts";
import { usePolling } from "../../app/loading.ts";
import { hrefOf, query } from "../../app/router.ts";
import { Filters, wordOptions } from "../../components/filters.tsx";
import { Heading } from "../../components/heading.tsx";
import { Empty, Loading } from "../../components/notices.tsx";
import { Pager } from "../../components/pager.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { texts } from "../../texts.ts";
import { ListActivity, MESSAGE_STATISTICS } from "../activity.tsx";
import { channelName, channelOptions, channels } from "../channel-names.ts";
import { useLiveList } from "../live-list.ts";
import { NewRows } from "../new-rows.tsx";

const STATUSES: readonly MessageDto["status"][] = [
  ...(["failed", "unknown", "queued", "sending", "scheduled"] as const),
  ...(["accepted", "sent", "delivered", "read", "cancelled"] as const),
];

const words = texts.messages;

const COLUMNS: readonly Column<MessageDto>[] = [
  {
    title: words.columns.to,
    isMain: true,
    cell: ({ to }) => <span class="number">{to}</span>,
  },
  {
    title: words.columns.status,
    isState: true,
    cell: (message) => <Status status={message.status} at={reachedAt(message)} />,
  },
  {
    title: words.columns.channel,
    cell: ({ channel_id }) => <span class="name">{channelName(channel_id)}</span>,
  },
  { title: words.columns.reason, cell: ({ error }) => error && reasonOf(error) },
  { title: words.columns.reference, isMinor: true, cell: ({ external_ref }) => external_ref },
  { title: words.columns.created, cell: ({ created_at }) => <Time at={created_at} /> },
];

const reasonOf = ({ code, title, message }: NonNullable<MessageDto["error"]>) => (
  <span title={message ?? undefined}>
    <code>{code}</code> {title}
  </span>
);

/** When the message reached its present status, for those that a person may have to act on. */
const reachedAt = ({ status, statuses }: MessageDto): string | undefined =>
  status === "failed" || status === "unknown" ? statuses.at(-1)?.at : undefined;

const filters = () => [
  { name: "status", label: words.columns.status, options: wordOptions(STATUSES) },
  { name: "channel_id", label: words.columns.channel, options: channelOptions(channels.value ?? []) },
  { name: "to", label: words.columns.to },
  { name: "external_ref", label: words.columns.reference, isMinor: true as const },
  { name: "batch_id", label: words.batch, isMinor: true as const },
  { name: "since", label: texts.since, isTime: true as const, isMinor: true as const },
  { name: "until", label: texts.until, isTime: true as const, isMinor: true as const },
];

const REFRESH_MS = 5_000;

export function MessageList() {
  const list = useLiveList<MessageDto>({
    path: "/api/outbound/messages",
    filters: filters().map(({ name }) => name),
    idOf: ({ message_id }) => message_id,
  });
  usePolling(list.isOpenEnded, REFRESH_MS, list.refresh);
  const sendAction = (
    <a class="button primary" href="/console/messages/new">
      {words.sendTest}
    </a>
  );
  return (
    <>
      <Heading title={words.title} actions={sendAction} />
      <ListActivity statistics={MESSAGE_STATISTICS} />
      <Filters filters={filters()} />
      <NewRows list={list} />
      <Loading loaded={list.loaded}>
        {({ data, paging }) => (
          <>
            {data.length === 0 ? (
              <NoMessages />
            ) : (
              <Table
                caption={words.title}
                columns={COLUMNS}
                rows={data}
                idOf={({ message_id }) => message_id}
                hrefOf={({ message_id }) => `/console/messages/${message_id}`}
              />
            )}
            <Pager paging={paging} />
          </>
        )}
      </Loading>
    </>
  );
}

const NoMessages = () =>
  Object.keys(query.value).length > 0 ? (
    <Empty title={words.noneMatch}>
      {query.value.to && (
        <p>
          <a href={hrefOf("/console/messages", { external_ref: query.value.to })}>
            {words.searchReference(query.value.to)}
          </a>
        </p>
      )}
    </Empty>
  ) : (
    <Empty title={words.none}>
      <p>
        <a href="/console/messages/new">{words.sendTest}</a>
      </p>
    </Empty>
  );
