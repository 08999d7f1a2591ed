import { useState } from "preact/hooks";
import type {
  MessageDetailDto,
  MessageExplanationDto,
  MessageTimelineDto,
} from "../../../../sdk/src/generated/types.ts";
import { call, newKey } from "../../app/api.ts";
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
import { copyText } from "../../components/toast.tsx";
import { texts } from "../../texts.ts";
import { channelName } from "../channel-names.ts";
import { CancelMessage, SendAgain } from "./message-actions.tsx";
import { sendCommand } from "./send-request.ts";
import { Timeline } from "./timeline.tsx";

interface MessageParts {
  message: MessageDetailDto;
  timeline: MessageTimelineDto["data"];
  explanation: MessageExplanationDto;
}

const words = texts.messages;

async function loadMessage(id: string, signal: AbortSignal): Promise<MessageParts> {
  const path = `/api/outbound/messages/${encodeURIComponent(id)}`;
  const [message, { data }, explanation] = await Promise.all([
    call<MessageDetailDto>("GET", path, { signal }),
    call<MessageTimelineDto>("GET", `${path}/timeline`, { signal }),
    call<MessageExplanationDto>("GET", `${path}/explanation`, { signal }),
  ]);
  return { message, timeline: data, explanation };
}

const REFRESH_MS = 2_000;
const YOUNG_MS = 10 * 60_000;

/** Statuses and deliveries follow within seconds, or as long as something waits. */
const isChanging = ({ message, explanation }: MessageParts): boolean =>
  explanation.verdict === "waiting" || Date.now() - Date.parse(message.created_at) < YOUNG_MS;

/** The life of one message: why it is as it is, and what happened. */
export function MessageScreen({ id }: { id: string }) {
  const loaded = useLoaded(id, (signal) => loadMessage(id, signal));
  usePolling(loaded.value !== undefined && isChanging(loaded.value), REFRESH_MS, loaded.reload);
  return (
    <>
      <Heading
        title={id}
        parent={{ title: words.title, href: "/console/messages" }}
        actions={loaded.value && <Actions message={loaded.value.message} onChange={loaded.reload} />}
      >
        <Id id={id} />
      </Heading>
      <Loading loaded={loaded}>
        {({ message, timeline, explanation }) => (
          <>
            <Explanation explanation={explanation} />
            <MessageFacts message={message} />
            <section class="panel">
              <h2>{words.timeline}</h2>
              <Timeline entries={timeline} />
            </section>
            {message.content === null ? (
              <p class="soft">{words.contentGone}</p>
            ) : (
              <JsonView label={words.content} value={message.content} />
            )}
          </>
        )}
      </Loading>
    </>
  );
}

const TONES = { ok: "good", waiting: "waiting", failed: "bad", unknown: "waiting" } as const;

/** Causes that are about events of the message. */
const EVENT_CAUSES = ["backend_unavailable", "backend_retry", "delivery_failed", "quarantined"];

const Explanation = ({ explanation }: { explanation: MessageExplanationDto }) => {
  const { message_id, verdict, status, cause, summary, who_acts, next_step } = explanation;
  const { since, until, platform_error: error, documentation } = explanation;
  return (
    <section class={`explanation ${TONES[verdict]}`} aria-label={words.explanation}>
      <p class="summary">{summary}</p>
      {error && (
        <p class="line">
          <code>{error.code}</code>
          {error.title}
          <span class="soft">{error.details ?? error.message}</span>
        </p>
      )}
      <p>
        {texts.whoActs[who_acts] && <strong>{texts.whatToDo} </strong>}
        {next_step}
      </p>
      <p class="soft">
        <Status status={status} at={since} />
        {until && (
          <span>
            {words.until} <Time at={until} />
          </span>
        )}
        {texts.whoActs[who_acts] && <span>{texts.whoActs[who_acts]}</span>}
        {EVENT_CAUSES.includes(cause) && may("webhooks:manage") && (
          <a href={hrefOf("/console/events", { message_id })}>{words.seeEvents}</a>
        )}
        <a href={documentation} target="_blank" rel="noreferrer">
          {words.whatThisMeans}
        </a>
      </p>
    </section>
  );
};

const MessageFacts = ({ message }: { message: MessageDetailDto }) => (
  <Facts>
    <Fact name={words.columns.to}>{message.to}</Fact>
    <Fact name={words.columns.channel}>
      <a href={hrefOf("/console/messages", { channel_id: message.channel_id })}>
        {channelName(message.channel_id)}
      </a>
    </Fact>
    <Fact name={words.type}>{message.type}</Fact>
    {message.external_ref && (
      <Fact name={words.columns.reference}>
        <a href={hrefOf("/console/messages", { external_ref: message.external_ref })}>
          {message.external_ref}
        </a>
      </Fact>
    )}
    {message.batch_id && (
      <Fact name={words.batch}>
        <a href={`/console/batches/${message.batch_id}`}>{message.batch_id}</a>
      </Fact>
    )}
    {message.send_at && (
      <Fact name={words.sendAt}>
        <Time at={message.send_at} />
      </Fact>
    )}
    {message.platform_message_id && (
      <Fact name={words.platformId}>
        <Id id={message.platform_message_id} />
      </Fact>
    )}
    {may("webhooks:manage") && (
      <Fact name={texts.events.title}>
        <a href={hrefOf("/console/events", { message_id: message.message_id })}>{words.seeEvents}</a>
      </Fact>
    )}
    <Fact name={words.columns.created}>
      <Time at={message.created_at} />
    </Fact>
  </Facts>
);

type Asked = "send_again" | "cancel" | undefined;

const CANCELLABLE: readonly MessageDetailDto["status"][] = ["scheduled", "queued"];

function Actions({ message, onChange }: { message: MessageDetailDto; onChange(): Promise<unknown> }) {
  const [asked, setAsked] = useState<Asked>();
  // One key for this screen: however often the dialog is opened, a request whose answer was lost sends nothing twice.
  const [key] = useState(newKey);
  const close = () => setAsked(undefined);
  return (
    <>
      {message.content !== null && (
        <button type="button" onClick={() => copyText(sendCommand(message), words.theCommand)}>
          {words.copyAsCurl}
        </button>
      )}
      {CANCELLABLE.includes(message.status) && (
        <button type="button" onClick={() => setAsked("cancel")}>
          {words.cancel.action}
        </button>
      )}
      {message.content !== null && (
        <button type="button" onClick={() => setAsked("send_again")}>
          {words.sendAgain.action}
        </button>
      )}
      {asked === "send_again" && <SendAgain message={message} idempotencyKey={key} onClose={close} />}
      {asked === "cancel" && <CancelMessage message={message} onClose={close} onDone={onChange} />}
    </>
  );
}
