import type { BatchDto } from "../../../../sdk/src/generated/types.ts";
import { call } from "../../app/api.ts";
import { formatCount } from "../../app/format.ts";
import { useLoaded, usePolling } from "../../app/loading.ts";
import { hrefOf } from "../../app/router.ts";
import { Id } from "../../components/code.tsx";
import { Fact, Facts } from "../../components/facts.tsx";
import { Heading } from "../../components/heading.tsx";
import { Loading } from "../../components/notices.tsx";
import { Status } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { batchesTexts } from "../../texts/batches.ts";
import { texts } from "../../texts.ts";
import { channelName } from "../channel-names.ts";
import { BatchActions } from "./batch-actions.tsx";
import { FailureCauses } from "./failures.tsx";
import { Outcomes, totalOf } from "./outcomes.tsx";

const words = batchesTexts;

const REFRESH_MS = 3_000;
const YOUNG_MS = 10 * 60_000;

/** The statuses of its messages go on changing for a while after its end. */
const isChanging = ({ finished_at }: BatchDto): boolean =>
  finished_at === null || Date.now() - Date.parse(finished_at) < YOUNG_MS;

/** One batch: how far it is, why messages of it failed, and how to stop it. */
export function BatchScreen({ id }: { id: string }) {
  const loaded = useLoaded(id, (signal) =>
    call<BatchDto>("GET", `/api/outbound/batches/${encodeURIComponent(id)}`, { signal }),
  );
  const batch = loaded.value;
  usePolling(batch !== undefined && isChanging(batch), REFRESH_MS, loaded.reload);
  return (
    <>
      <Heading
        title={batch?.name ?? id}
        parent={{ title: words.title, href: "/console/batches" }}
        actions={batch && <BatchActions batch={batch} onChange={loaded.reload} />}
      >
        {batch?.name ?? <Id id={id} />}
      </Heading>
      <Loading loaded={loaded}>
        {(batch) => (
          <>
            {batch.pause_reason && <Pause reason={batch.pause_reason} />}
            <BatchFacts batch={batch} />
            <Outcomes batch={batch} />
            {batch.counts.failed > 0 && <FailureCauses batchId={id} count={batch.counts.failed} />}
          </>
        )}
      </Loading>
    </>
  );
}

/** Why a batch is paused, and what to do. */
const Pause = ({ reason }: { reason: NonNullable<BatchDto["pause_reason"]> }) => (
  <section class="explanation waiting" aria-label={words.paused}>
    <p class="summary">{words.pauses[reason].summary}</p>
    <p>
      <strong>{texts.whatToDo} </strong>
      {words.pauses[reason].nextStep}
    </p>
    {reason !== "requested" && (
      <p class="soft">
        <a href="/docs/guides/batches#automatic-pauses" target="_blank" rel="noreferrer">
          {words.whatThisMeans}
        </a>
      </p>
    )}
  </section>
);

const BatchFacts = ({ batch }: { batch: BatchDto }) => (
  <Facts>
    <Fact name={words.columns.status}>
      <Status status={batch.status} />
    </Fact>
    <Fact name={words.messages}>{formatCount(totalOf(batch.counts))}</Fact>
    <Fact name={words.columns.channel}>
      <a href={hrefOf("/console/batches", { channel_id: batch.channel_id })}>
        {channelName(batch.channel_id)}
      </a>
    </Fact>
    <Fact name={words.columns.type}>{batch.type}</Fact>
    {batch.name !== null && (
      <Fact name={words.id}>
        <Id id={batch.batch_id} />
      </Fact>
    )}
    <Fact name={words.columns.created}>
      <Time at={batch.created_at} />
    </Fact>
    {batch.send_at && (
      <Fact name={words.sendAt}>
        <Time at={batch.send_at} />
      </Fact>
    )}
    {batch.finished_at && (
      <Fact name={words.finished}>
        <Time at={batch.finished_at} />
      </Fact>
    )}
  </Facts>
);
