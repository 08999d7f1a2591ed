import type {
  ListMessagesPage,
  MessageDto,
  MessageExplanationDto,
} from "../../../../sdk/src/generated/types.ts";
import { call } from "../../app/api.ts";
import { type Loaded, useLoaded, usePolling } from "../../app/loading.ts";
import { hrefOf } from "../../app/router.ts";
import { Loading } from "../../components/notices.tsx";
import { batchesTexts } from "../../texts/batches.ts";

const words = batchesTexts;

/** Messages of a batch that failed with the same error. */
interface Cause {
  code: string;
  title: string | null;
  count: number;
  /** The newest of these messages. */
  sampleId: string;
  /** The sentence that explains each of them. */
  summary: string;
}

interface Failures {
  causes: readonly Cause[];
  /** The batch's count when the messages were read. */
  count: number;
}

interface FailuresProps {
  batchId: string;
  count: number;
}

/** The failed messages of a batch by cause, most frequent first. Read anew only when more have failed. */
export function FailureCauses({ batchId, count }: FailuresProps) {
  const loaded: Loaded<Failures> = useLoaded(batchId, async (signal) => {
    const messages = await readFailed(batchId, signal);
    return { causes: await explainCauses(messages, { known: loaded.value?.causes ?? [], signal }), count };
  });
  // One reading follows another: while many messages fail, a reading would never end if each change began a new one.
  usePolling(loaded.value !== undefined && loaded.value.count !== count, REFRESH_MS, loaded.reload);
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>{words.causesTitle}</h2>
        <a href={hrefOf("/console/messages", { batch_id: batchId, status: "failed" })}>{words.seeFailed}</a>
      </div>
      <Loading loaded={loaded}>{({ causes }) => <CauseList causes={causes} />}</Loading>
    </section>
  );
}

const REFRESH_MS = 3_000;

const CauseList = ({ causes }: { causes: readonly Cause[] }) => (
  <ol class="causes">
    {causes.map(({ code, title, count, sampleId, summary }) => (
      <li key={`${code} ${title}`}>
        <p>{summary}</p>
        <p class="line">
          <strong>{words.count(count)}</strong>
          <span class="soft">
            <code>{code}</code> {title}
          </span>
          <a href={`/console/messages/${sampleId}`}>{words.seeSample}</a>
        </p>
      </li>
    ))}
  </ol>
);

const PAGE_ROWS = 100;

/** All failed messages of a batch, newest first; there are at most 1,000. */
async function readFailed(batchId: string, signal: AbortSignal): Promise<MessageDto[]> {
  const messages: MessageDto[] = [];
  let after: string | undefined;
  do {
    const { data, paging } = await call<ListMessagesPage>("GET", "/api/outbound/messages", {
      query: { batch_id: batchId, status: "failed", limit: PAGE_ROWS, after },
      signal,
    });
    messages.push(...data);
    after = paging.has_more ? (paging.cursors.after ?? undefined) : undefined;
  } while (after !== undefined);
  return messages;
}

interface KnownCauses {
  known: readonly Cause[];
  signal: AbortSignal;
}

/** Groups messages by error; an explanation that is known is not read again. */
async function explainCauses(
  messages: readonly MessageDto[],
  { known, signal }: KnownCauses,
): Promise<readonly Cause[]> {
  const groups = new Map<string, MessageDto[]>();
  for (const message of messages) {
    const key = JSON.stringify([message.error?.code, message.error?.title]);
    groups.set(key, [...(groups.get(key) ?? []), message]);
  }
  const causes = [...groups.values()].map(async (group) => {
    const { message_id: sampleId, error } = group[0] as MessageDto;
    const [code, title] = [String(error?.code ?? ""), error ? error.title : words.noReason];
    const former = known.find((cause) => cause.code === code && cause.title === title);
    const summary = former?.summary ?? (await readSummary(sampleId, signal));
    return { code, title, count: group.length, sampleId, summary };
  });
  return (await Promise.all(causes)).sort((one, other) => other.count - one.count);
}

const readSummary = async (messageId: string, signal: AbortSignal): Promise<string> =>
  (await call<MessageExplanationDto>("GET", `/api/outbound/messages/${messageId}/explanation`, { signal }))
    .summary;
