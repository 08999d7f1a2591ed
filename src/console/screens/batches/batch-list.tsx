import type { BatchDto } from "../../../../sdk/src/generated/types.ts";
import { shortId } from "../../app/format.ts";
import { usePolling } from "../../app/loading.ts";
import { query } from "../../app/router.ts";
import { type Filter, Filters, wordOptions } from "../../components/filters.tsx";
import { Heading } from "../../components/heading.tsx";
import { Empty, Loading } from "../../components/notices.tsx";
import { Pager } from "../../components/pager.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { batchesTexts } from "../../texts/batches.ts";
import { channelName, channelOptions, channels } from "../channel-names.ts";
import { useLiveList } from "../live-list.ts";
import { NewRows } from "../new-rows.tsx";
import { Progress } from "./outcomes.tsx";

const STATUSES: readonly BatchDto["status"][] = ["running", "paused", "scheduled", "finished", "cancelled"];

const words = batchesTexts;

const COLUMNS: readonly Column<BatchDto>[] = [
  { title: words.columns.name, isMain: true, cell: ({ name, batch_id }) => name ?? shortId(batch_id) },
  { title: words.columns.status, isState: true, cell: (batch) => <BatchState batch={batch} /> },
  {
    title: words.columns.channel,
    cell: ({ channel_id }) => <span class="name">{channelName(channel_id)}</span>,
  },
  { title: words.columns.type, isMinor: true, cell: ({ type }) => type },
  { title: words.columns.progress, cell: ({ counts }) => <Progress counts={counts} /> },
  { title: words.columns.created, cell: ({ created_at }) => <Time at={created_at} /> },
];

/** A scheduled batch with the time of its start, a paused one with the reason. */
const BatchState = ({ batch: { status, send_at, pause_reason } }: { batch: BatchDto }) => (
  <span class="line">
    <Status status={status} at={status === "scheduled" ? (send_at ?? undefined) : undefined} />
    {pause_reason && <small class="soft">{words.reasons[pause_reason]}</small>}
  </span>
);

const filters = (): Filter[] => [
  { name: "status", label: words.columns.status, options: wordOptions(STATUSES) },
  { name: "channel_id", label: words.columns.channel, options: channelOptions(channels.value ?? []) },
];

const REFRESH_MS = 5_000;

export function BatchList() {
  const list = useLiveList<BatchDto>({
    path: "/api/outbound/batches",
    filters: filters().map(({ name }) => name),
    idOf: ({ batch_id }) => batch_id,
  });
  const isAnyUnfinished = list.loaded.value?.data.some(({ finished_at }) => finished_at === null) ?? false;
  usePolling(list.isOpenEnded || isAnyUnfinished, REFRESH_MS, list.refresh);
  return (
    <>
      <Heading title={words.title} />
      <Filters filters={filters()} />
      <NewRows list={list} />
      <Loading loaded={list.loaded}>
        {({ data, paging }) => (
          <>
            {data.length === 0 ? (
              <NoBatches />
            ) : (
              <Table
                caption={words.title}
                columns={COLUMNS}
                rows={data}
                idOf={({ batch_id }) => batch_id}
                hrefOf={({ batch_id }) => `/console/batches/${batch_id}`}
              />
            )}
            <Pager paging={paging} />
          </>
        )}
      </Loading>
    </>
  );
}

const NoBatches = () =>
  Object.keys(query.value).length > 0 ? (
    <Empty title={words.noneMatch} />
  ) : (
    <Empty title={words.none}>
      <p>{words.whatIsIt}</p>
      <p>{words.howItIsMade}</p>
      <p>
        <a href="/docs/guides/batches" target="_blank" rel="noreferrer">
          {words.howTo}
        </a>
      </p>
    </Empty>
  );
