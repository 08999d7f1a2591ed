import { useState } from "preact/hooks";
import type { BatchDto } from "../../../../sdk/src/generated/types.ts";
import { call } from "../../app/api.ts";
import { useAction } from "../../app/loading.ts";
import { Question } from "../../components/dialog.tsx";
import { ProblemNotice } from "../../components/notices.tsx";
import { batchesTexts } from "../../texts/batches.ts";

const words = batchesTexts;

interface ActionProps {
  batch: BatchDto;
  onChange(): Promise<unknown>;
}

/** A refused change is followed by a reload too: the batch is not as it was shown. */
const changeBatch = ({ batch, onChange }: ActionProps, change: "pause" | "resume" | "cancel") =>
  call<BatchDto>("POST", `/api/outbound/batches/${batch.batch_id}/${change}`).finally(onChange);

const CHANGEABLE: readonly BatchDto["status"][] = ["scheduled", "running", "paused"];

/** Pauses and resumes a batch at once, and cancels it after a question. */
export function BatchActions(props: ActionProps) {
  const { status } = props.batch;
  const [isAsked, setAsked] = useState(false);
  const change = status === "paused" ? "resume" : "pause";
  const action = useAction(async () => {
    await changeBatch(props, change);
  });
  return (
    <>
      {action.problem && <ProblemNotice problem={action.problem} />}
      {CHANGEABLE.includes(status) && (
        <>
          <button type="button" aria-disabled={action.isRunning} onClick={action.run}>
            {words[change]}
          </button>
          <button type="button" onClick={() => setAsked(true)}>
            {words.cancel.action}
          </button>
        </>
      )}
      {isAsked && <CancelBatch {...props} onClose={() => setAsked(false)} />}
    </>
  );
}

function CancelBatch({ onClose, ...props }: ActionProps & { onClose(): void }) {
  const { scheduled, queued, sending } = props.batch.counts;
  return (
    <Question
      title={words.cancel.title}
      action={words.cancel.action}
      refusal={words.cancel.refusal}
      act={async () => {
        await changeBatch(props, "cancel");
        onClose();
      }}
      onClose={onClose}
    >
      <p>{words.cancel.consequence(scheduled + queued)}</p>
      {sending > 0 && <p class="soft">{words.cancel.inFlight(sending)}</p>}
    </Question>
  );
}
