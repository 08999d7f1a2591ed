import { useRef, useState } from "preact/hooks";
import type { WebhookConfigResponseDto } from "../../../../sdk/src/generated/types.ts";
import { useAction } from "../../app/loading.ts";
import { CodeBlock } from "../../components/code.tsx";
import { Question } from "../../components/dialog.tsx";
import { Fact, Facts } from "../../components/facts.tsx";
import { SelectField } from "../../components/field.tsx";
import { ProblemNotice } from "../../components/notices.tsx";
import { GraceField, ShownSecret } from "../../components/secret.tsx";
import { Switch } from "../../components/switch.tsx";
import { showToast } from "../../components/toast.tsx";
import { webhooksTexts } from "../../texts/webhooks.ts";
import { changeConfig, generateSecret } from "./config.ts";
import { LANGUAGES, type Language, PROGRAMS } from "./programs.ts";

const words = webhooksTexts.secret;
const programWords = webhooksTexts.snippet;

interface SecretProps {
  config: WebhookConfigResponseDto;
  onChange(): Promise<unknown>;
}

type Asked = "replace" | "remove" | undefined;

/** Generates, replaces and removes the secret, and says whether deliveries carry it. */
export function Secret({ config, onChange }: SecretProps) {
  const { webhook_secret_set: isSet, webhook_secret_hint: hint } = config;
  const [asked, setAsked] = useState<Asked>();
  const [secret, setSecret] = useState<string>();
  const actions = useRef<HTMLDivElement>(null);
  const close = () => setAsked(undefined);

  function showNew(generated: string): void {
    close();
    setSecret(generated);
  }

  /** Read anew only now: a failure, or the end of the session, would take the shown secret away. */
  function endShowing(): void {
    setSecret(undefined);
    void onChange();
  }

  async function showRemoved(): Promise<void> {
    close();
    showToast(words.remove.done);
    await onChange();
    actions.current?.querySelector("button")?.focus(); // the button that had the focus is gone
  }

  const generating = useAction(async () => showNew(await generateSecret(0)));
  return (
    <>
      <p class="soft">{words.hint}</p>
      {isSet && (
        <Facts>
          <Fact name={words.present}>
            <code>{hint}</code>
          </Fact>
        </Facts>
      )}
      {generating.problem && <ProblemNotice problem={generating.problem} />}
      <div class="actions" ref={actions}>
        <button
          type="button"
          class={isSet ? undefined : "primary"}
          aria-disabled={generating.isRunning}
          onClick={() => (isSet ? setAsked("replace") : generating.run())}
        >
          {isSet ? words.replace.action : words.generate}
        </button>
        {isSet && (
          <button type="button" onClick={() => setAsked("remove")}>
            {words.remove.action}
          </button>
        )}
      </div>
      {isSet && <TokenHeader isOn={config.token_header} onChange={onChange} />}
      {asked === "replace" && (
        <ReplaceSecret isTokenSent={config.token_header} onDone={showNew} onClose={close} />
      )}
      {asked === "remove" && <RemoveSecret onDone={showRemoved} onClose={close} />}
      {secret !== undefined && (
        <ShownSecret
          title={words.shownTitle}
          name={words.name}
          secret={secret}
          note={words.shownNote}
          onClose={endShowing}
        />
      )}
    </>
  );
}

/** A day: time enough to change the secret of a backend. */
const DEFAULT_GRACE_MINUTES = 1_440;

interface ReplaceProps {
  isTokenSent: boolean;
  onDone(secret: string): void;
  onClose(): void;
}

function ReplaceSecret({ isTokenSent, onDone, onClose }: ReplaceProps) {
  const [minutes, setMinutes] = useState(DEFAULT_GRACE_MINUTES);
  return (
    <Question
      title={words.replace.title}
      action={words.replace.action}
      act={async () => onDone(await generateSecret(minutes))}
      onClose={onClose}
    >
      <p>{words.replace.consequence}</p>
      {isTokenSent && <p>{words.replace.tokenConsequence}</p>}
      <GraceField hint={words.replace.graceHint} minutes={minutes} onChange={setMinutes} />
    </Question>
  );
}

const RemoveSecret = ({ onDone, onClose }: { onDone(): Promise<void>; onClose(): void }) => (
  <Question
    title={words.remove.title}
    action={words.remove.action}
    act={async () => {
      await changeConfig({ webhook_secret: null });
      await onDone();
    }}
    onClose={onClose}
  >
    <p>{words.remove.consequence}</p>
  </Question>
);

interface TokenHeaderProps {
  isOn: boolean;
  onChange(): Promise<unknown>;
}

function TokenHeader({ isOn, onChange }: TokenHeaderProps) {
  const [isAsked, setAsked] = useState(false);
  const showing = useAction(async () => {
    await changeConfig({ token_header: true });
    await onChange();
  });
  return (
    <div>
      <Switch isOn={isOn} isBusy={showing.isRunning} onChange={() => (isOn ? setAsked(true) : showing.run())}>
        {words.tokenHeader.label}
      </Switch>
      <p class="hint">{words.tokenHeader.hint}</p>
      {showing.problem && <ProblemNotice problem={showing.problem} />}
      {isAsked && <HideToken onChange={onChange} onClose={() => setAsked(false)} />}
    </div>
  );
}

const HideToken = ({ onChange, onClose }: { onChange(): Promise<unknown>; onClose(): void }) => (
  <Question
    title={words.tokenHeader.title}
    action={words.tokenHeader.hide}
    act={async () => {
      await changeConfig({ token_header: false });
      onClose();
      await onChange();
    }}
    onClose={onClose}
  >
    <p>{words.tokenHeader.consequence}</p>
  </Question>
);

/** A program that verifies deliveries, in the language that the person chooses. */
export function Snippet() {
  const [language, setLanguage] = useState<Language>("sdk");
  const { code, command } = PROGRAMS[language];
  return (
    <div class="snippet">
      <h3>{programWords.title}</h3>
      <p class="soft">{programWords.hint}</p>
      <SelectField
        label={programWords.language}
        value={language}
        options={LANGUAGES.map((value) => ({ value, label: programWords.languages[value].label }))}
        onChange={(value) => setLanguage(value as Language)}
      />
      <CodeBlock text={code} label={programWords.label} />
      <p class="soft">
        {programWords.languages[language].hint} <code>{command}</code>
      </p>
      <p class="actions">
        {language === "sdk" && (
          <a href="/docs/guides/sdk#install" target="_blank" rel="noreferrer">
            {programWords.installSdk}
          </a>
        )}
        <a href="/docs/guides/receiving#verify-signatures" target="_blank" rel="noreferrer">
          {programWords.rules}
        </a>
      </p>
    </div>
  );
}
