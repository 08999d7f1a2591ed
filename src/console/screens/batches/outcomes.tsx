import type { BatchCountsDto, BatchDto } from "../../../../sdk/src/generated/types.ts";
import { formatCount } from "../../app/format.ts";
import { hrefOf } from "../../app/router.ts";
import { batchesTexts } from "../../texts/batches.ts";
import { texts } from "../../texts.ts";

const words = batchesTexts;

type MessageStatus = keyof BatchCountsDto;

/** The outcomes of a batch, in the order of the bar, each with the statuses of its messages. */
const OUTCOMES = [
  { name: "sent", statuses: ["accepted", "sent", "delivered", "read"] },
  { name: "failed", statuses: ["failed"] },
  { name: "unknown", statuses: ["unknown"] },
  { name: "cancelled", statuses: ["cancelled"] },
  { name: "waiting", statuses: ["scheduled", "queued", "sending"] },
] as const satisfies readonly {
  name: keyof typeof words.outcomes;
  statuses: readonly MessageStatus[];
}[];

const sumOf = (counts: BatchCountsDto, statuses: readonly MessageStatus[]): number =>
  statuses.reduce((sum, status) => sum + counts[status], 0);

const outcomesOf = (counts: BatchCountsDto) =>
  OUTCOMES.map(({ name, statuses }) => ({
    ...{ name, statuses, label: words.outcomes[name], count: sumOf(counts, statuses) },
  }));

/** All messages of a batch. */
export const totalOf = (counts: BatchCountsDto): number =>
  outcomesOf(counts).reduce((sum, { count }) => sum + count, 0);

/** The share of a bar below which a part of it cannot be seen. */
const MIN_SHARE = 0.01;

/** Where each part of a bar begins and how wide it is, in percent. Small parts are widened at the cost of the others. */
function partsOf(counts: BatchCountsDto) {
  const total = totalOf(counts);
  const shown = outcomesOf(counts).filter(({ count }) => count > 0);
  const shares = shown.map(({ count }) => Math.max(count / total, MIN_SHARE));
  const sum = shares.reduce((one, other) => one + other, 0);
  let x = 0;
  return shown.map(({ name }, index) => {
    const width = (100 * (shares[index] ?? 0)) / sum;
    x += width;
    return { name, x: x - width, width };
  });
}

const Bar = ({ counts }: { counts: BatchCountsDto }) => (
  <>
    {partsOf(counts).map(({ name, x, width }) => (
      <rect key={name} class={name} x={`${x}%`} width={`${width}%`} height="100%" />
    ))}
  </>
);

/** The share of a batch that is no longer to be sent, and how many of its messages have failed. */
export function Progress({ counts }: { counts: BatchCountsDto }) {
  const total = totalOf(counts);
  const waiting = counts.scheduled + counts.queued + counts.sending;
  const percent = total === 0 ? 100 : Math.floor((100 * (total - waiting)) / total);
  return (
    <span class="progress">
      <svg class="outcome-bar" aria-hidden="true">
        <Bar counts={counts} />
      </svg>
      <span class="number">{words.progress(percent)}</span>
      {counts.failed > 0 && <span class="failed-count">{words.failed(counts.failed)}</span>}
    </span>
  );
}

/** The messages of a batch by outcome, as a bar and as counts with links to the messages. */
export const Outcomes = ({ batch: { batch_id, counts } }: { batch: BatchDto }) => (
  <section class="panel">
    <div class="panel-head">
      <h2>{words.outcomesTitle}</h2>
      <a href={hrefOf("/console/messages", { batch_id })}>{words.seeAll}</a>
    </div>
    <svg class="outcome-bar" role="img" aria-label={words.bar(outcomesOf(counts))}>
      <Bar counts={counts} />
    </svg>
    <dl class="outcomes">
      {outcomesOf(counts).map(({ name, label, count, statuses }) => (
        <div key={name}>
          <dt>
            <span class={`dot ${name}`} aria-hidden="true" /> {label}
          </dt>
          <dd>{formatCount(count)}</dd>
          {statuses
            .filter((status) => counts[status] > 0)
            .map((status) => (
              <dd key={status}>
                <a href={hrefOf("/console/messages", { batch_id, status })}>
                  {words.inStatus(counts[status], texts.statuses[status] ?? status)}
                </a>
              </dd>
            ))}
        </div>
      ))}
    </dl>
  </section>
);
