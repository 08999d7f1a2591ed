import { useState } from "preact/hooks";
import type {
  EventDetailDto,
  TestWebhookDto,
  TestWebhookResultDto,
  WebhookConfigResponseDto,
} from "../../../../sdk/src/generated/types.ts";
import { call } from "../../app/api.ts";
import { useAction, useLoaded } from "../../app/loading.ts";
import { Fact, Facts } from "../../components/facts.tsx";
import { SelectField } from "../../components/field.tsx";
import { Loading, ProblemNotice } from "../../components/notices.tsx";
import { Status } from "../../components/status.tsx";
import { webhooksTexts } from "../../texts/webhooks.ts";
import { Answer } from "../delivery-attempt.tsx";
import { EVENT_TYPES, type EventType } from "../event-types.ts";
import { type DispatchRow, dispatchRows, type EventKey, keysOf } from "./config.ts";

const words = webhooksTexts.test;
const names = webhooksTexts.keys;

/** Without a type, one attempt is made at once. It makes an event of this type too. */
const CONNECTION_TEST = "webhook.test";

const TYPE_OPTIONS = EVENT_TYPES.filter((type) => type !== CONNECTION_TEST).map((value) => ({
  value: value as string,
  label: value as string,
}));

const keyOption = (key: EventKey) => ({ value: key as string, label: `${names[key]} (${key})` });

interface TestEventProps {
  config: WebhookConfigResponseDto;
  onSent(): Promise<unknown>;
}

/** Sends an event of any type, and shows what the backend answers. */
export function TestEvent({ config, onSent }: TestEventProps) {
  const rows = dispatchRows(config.dispatch_urls);
  const [type, setType] = useState<EventType>(CONNECTION_TEST);
  const [chosenKey, setChosenKey] = useState("");
  const [result, setResult] = useState<TestWebhookResultDto>();
  const isConnectionTest = type === CONNECTION_TEST;
  const keys = isConnectionTest ? rows.map(({ key }) => key) : keysOf(rows, type);
  const key = keys.find((candidate) => candidate === chosenKey) ?? (isConnectionTest ? undefined : keys[0]);
  const sending = useAction(async () => {
    setResult(undefined);
    setResult(await sendTest(isConnectionTest ? { key } : { type, key }));
    await onSent();
  });
  return (
    <>
      <form
        class="setting"
        onSubmit={(event) => {
          event.preventDefault();
          if (config.configured) void sending.run();
        }}
      >
        <div class="choices">
          <SelectField
            label={words.event}
            value={type}
            options={[{ value: CONNECTION_TEST, label: words.connection }, ...TYPE_OPTIONS]}
            hint={isConnectionTest ? words.connectionHint : words.typedHint}
            onChange={(value) => setType(value as EventType)}
          />
          {keys.length > 1 && (
            <SelectField
              label={words.key}
              value={key ?? ""}
              options={[
                ...(isConnectionTest ? [{ value: "", label: words.noKey }] : []),
                ...keys.map(keyOption),
              ]}
              onChange={setChosenKey}
            />
          )}
        </div>
        {!isConnectionTest && key && isOff(rows, key) && <p class="hint">{words.isOff(names[key])}</p>}
        {sending.problem && <ProblemNotice problem={sending.problem} />}
        <div class="actions">
          <button type="submit" class="primary" aria-disabled={sending.isRunning || !config.configured}>
            {sending.isRunning ? words.sending : words.action}
          </button>
          {!config.configured && <span class="soft">{words.noAddress}</span>}
        </div>
      </form>
      <div class="test-place" role="status">
        {result && <Result key={result.event_id} result={result} />}
      </div>
    </>
  );
}

const isOff = (rows: readonly DispatchRow[], wanted: EventKey): boolean =>
  rows.some(({ key, isEnabled }) => key === wanted && isEnabled === false);

const sendTest = ({ type, key }: TestParts): Promise<TestWebhookResultDto> =>
  call("POST", "/api/webhooks/test", { body: { type, key } });

type TestParts = { type?: TestWebhookDto["type"]; key: EventKey | undefined };

/** The status of the event's delivery after the first attempt. */
function statusOf({ delivered, error }: TestWebhookResultDto): EventDetailDto["status"] {
  if (delivered) return "delivered";
  if (error === "pending") return "pending";
  return error === "disabled" || error === "not_configured" ? "skipped" : "failed";
}

function Result({ result }: { result: TestWebhookResultDto }) {
  const { event_id, status_code, duration_ms, error } = result;
  const loaded = useLoaded("", (signal) =>
    call<EventDetailDto>("GET", `/api/webhooks/events/${event_id}`, { signal }),
  );
  const status = statusOf(result);
  const isAttempted = status === "delivered" || status === "failed";
  return (
    <section class="test-result" aria-label={words.result}>
      <Facts>
        <Fact name={words.outcome}>
          <Status status={status} />
        </Fact>
        {status_code !== null && <Fact name={words.statusCode}>{status_code}</Fact>}
        {isAttempted && <Fact name={words.duration}>{words.milliseconds(duration_ms)}</Fact>}
        {error !== null && <Fact name={words.error}>{words.reasons[error] ?? error}</Fact>}
        {isAttempted && loaded.value && (
          <Fact name={words.sentTo}>
            <code>{loaded.value.url}</code>
          </Fact>
        )}
      </Facts>
      {status_code !== null && <Loading loaded={loaded}>{(event) => <FirstAnswer event={event} />}</Loading>}
      <p>
        <a href={`/console/events/${event_id}`}>{words.openEvent}</a>
      </p>
    </section>
  );
}

/** Others may have followed meanwhile. */
const FirstAnswer = ({ event: { delivery_attempts } }: { event: EventDetailDto }) => (
  <>
    <p class="soft">{words.answer}</p>
    <Answer attempt={delivery_attempts.find(({ attempt }) => attempt === 1)} />
  </>
);
