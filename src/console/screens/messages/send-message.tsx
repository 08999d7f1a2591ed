import { useRef, useState } from "preact/hooks";
import type {
  ChannelDto,
  ListTemplatesPage,
  SendMessageResponseDto,
  TemplateDto,
} from "../../../../sdk/src/generated/types.ts";
import { call, newKey } from "../../app/api.ts";
import { toJson } from "../../app/json.ts";
import { useAction, useLoaded } from "../../app/loading.ts";
import { navigate, query } from "../../app/router.ts";
import { isSandbox, may } from "../../app/session.ts";
import { SelectField, TextField } from "../../components/field.tsx";
import { Heading } from "../../components/heading.tsx";
import { Empty, Loading, ProblemNotice } from "../../components/notices.tsx";
import { showToast } from "../../components/toast.tsx";
import { texts } from "../../texts.ts";
import { channelOptions, channels } from "../channel-names.ts";
import { templateComponents, variablesOf } from "./template-variables.ts";

const words = texts.sendMessage;

/** Sends a text or a template to one person. */
export function SendMessage() {
  const connected = channels.value?.filter(({ status }) => status === "connected");
  return (
    <>
      <Heading title={words.title} parent={{ title: texts.messages.title, href: "/console/messages" }} />
      {connected?.length === 0 && <Empty title={words.noChannel} />}
      {connected && connected.length > 0 && <SendForm channels={connected} />}
    </>
  );
}

type Kind = "text" | "template";

function SendForm({ channels }: { channels: readonly ChannelDto[] }) {
  const [channelId, setChannelId] = useState(query.value.channel_id ?? firstChoice(channels));
  const [to, setTo] = useState(query.value.to ?? "");
  const [kind, setKind] = useState<Kind>("text");
  const [body, setBody] = useState(words.sampleText);
  const [template, setTemplate] = useState<object>();
  const platform = channels.find(({ channel_id }) => channel_id === channelId)?.platform;
  const isChat = platform === "chatapp";
  const type = isChat ? kind : "text";
  const keys = useRef({ body: "", key: "" });
  const action = useAction(async (isShown) => {
    const content = type === "text" ? { text: { body } } : { template };
    const request = { channel_id: channelId, to: to.trim(), type, ...content };
    // A repeated request has the same key, so that it sends nothing twice; a changed one is another message.
    const text = toJson(request);
    if (keys.current.body !== text) keys.current = { body: text, key: newKey() };
    const sent = await call<SendMessageResponseDto>("POST", "/api/outbound/send", {
      body: request,
      headers: { "idempotency-key": keys.current.key },
    });
    showToast(texts.messages.sent);
    if (isShown()) navigate(`/console/messages/${sent.message_id}`);
  });
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void action.run();
      }}
    >
      <SelectField
        label={texts.messages.columns.channel}
        value={channelId}
        options={channelOptions(channels)}
        onChange={setChannelId}
      />
      <TextField
        label={texts.messages.columns.to}
        hint={isChat ? words.phoneHint : words.pageHint}
        isRequired
        value={to}
        onInput={setTo}
      />
      {isChat && isSandbox() && <SampleRecipients onPick={setTo} />}
      {isChat && may("templates:manage") && (
        <SelectField
          label={texts.messages.type}
          value={kind}
          options={[
            { value: "text", label: words.text },
            { value: "template", label: words.template },
          ]}
          hint={kind === "text" ? words.textHint : words.templateHint}
          onChange={(value) => setKind(value as Kind)}
        />
      )}
      {type === "text" ? (
        <TextField label={words.text} isLong isRequired value={body} onInput={setBody} />
      ) : (
        <TemplateFields key={channelId} channelId={channelId} onChange={setTemplate} />
      )}
      {action.problem && <ProblemNotice problem={action.problem} />}
      <div class="actions">
        <button
          type="submit"
          class="primary"
          aria-disabled={action.isRunning}
          disabled={type === "template" && template === undefined}
        >
          {words.action}
        </button>
        <a href="/console/messages">{texts.cancel}</a>
      </div>
    </form>
  );
}

/** A chat channel, which most clients send with, or else any. */
const firstChoice = (channels: readonly ChannelDto[]): string =>
  (channels.find(({ platform }) => platform === "chatapp") ?? channels[0])?.channel_id ?? "";

/** Recipients that the simulated platform treats in a special way. */
const SampleRecipients = ({ onPick }: { onPick(to: string): void }) => (
  <fieldset class="samples">
    <legend>{words.samples}</legend>
    {words.sampleRecipients.map(({ to, effect }) => (
      <button key={to} type="button" class="small" onClick={() => onPick(to)}>
        <code>{to}</code> {effect}
      </button>
    ))}
  </fieldset>
);

const nameOf = ({ name = "", language = "" }: TemplateDto) => `${name} ${language}`;

interface TemplateFieldsProps {
  channelId: string;
  onChange(template: object | undefined): void;
}

function TemplateFields({ channelId, onChange }: TemplateFieldsProps) {
  const loaded = useLoaded(channelId, (signal) =>
    call<ListTemplatesPage>("POST", "/api/templates/list", {
      body: { channel_id: channelId, status: "APPROVED", limit: 100 },
      signal,
    }),
  );
  const [chosen, setChosen] = useState<TemplateDto>();
  const [values, setValues] = useState<Record<string, string>>({});

  function change(template: TemplateDto | undefined, given: Record<string, string>): void {
    setChosen(template);
    setValues(given);
    const isComplete = template && variablesOf(template).every(({ id }) => given[id]);
    onChange(
      isComplete
        ? {
            name: template.name,
            language: { code: template.language },
            ...templateComponents(template, given),
          }
        : undefined,
    );
  }

  return (
    <Loading loaded={loaded}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty title={words.noTemplate} />
        ) : (
          <>
            <SelectField
              label={words.template}
              value={chosen ? nameOf(chosen) : ""}
              options={[
                { value: "", label: words.choose },
                ...data.map((template) => ({ value: nameOf(template), label: nameOf(template) })),
              ]}
              onChange={(name) =>
                change(
                  data.find((template) => nameOf(template) === name),
                  {},
                )
              }
            />
            {chosen &&
              variablesOf(chosen).map(({ id, label, text }) => (
                <TextField
                  key={id}
                  label={words.variable(label)}
                  hint={text}
                  isRequired
                  value={values[id] ?? ""}
                  onInput={(value) => change(chosen, { ...values, [id]: value })}
                />
              ))}
          </>
        )
      }
    </Loading>
  );
}
