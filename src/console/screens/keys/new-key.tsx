import { useState } from "preact/hooks";
import type { CreateApiKeyDto, CreatedApiKeyDto } from "../../../../sdk/src/generated/types.ts";
import { call } from "../../app/api.ts";
import { fromLocalInput } from "../../app/format.ts";
import { useAction } from "../../app/loading.ts";
import type { Scope } from "../../app/session.ts";
import { Dialog } from "../../components/dialog.tsx";
import { CheckField, TextField } from "../../components/field.tsx";
import { ProblemNotice } from "../../components/notices.tsx";
import { keysTexts } from "../../texts/keys.ts";
import { texts } from "../../texts.ts";
import { uncertaintyOf } from "./key-actions.tsx";

const words = keysTexts.create;

const SCOPES = Object.keys(keysTexts.scopes) as Scope[];

interface NewKeyProps {
  onCreated(key: CreatedApiKeyDto): void;
  onClose(): void;
}

/** Asks for the name, the scopes and the expiry of a new key. */
export function NewKey({ onCreated, onClose }: NewKeyProps) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>([]);
  const [expiry, setExpiry] = useState("");
  const action = useAction(async () => {
    const body: CreateApiKeyDto = { name, scopes: [...scopes] };
    if (expiry !== "") body.expires_at = fromLocalInput(expiry, false);
    onCreated(await call<CreatedApiKeyDto>("POST", "/api/keys", { body }));
  });
  const isComplete = scopes.length > 0;
  return (
    <Dialog title={words.title} isBusy={action.isRunning} onClose={onClose}>
      <form
        class="key-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (isComplete) void action.run();
        }}
      >
        <TextField label={words.name} hint={words.nameHint} isRequired value={name} onInput={setName} />
        <ScopeFields chosen={scopes} onChange={setScopes} />
        <TextField
          label={words.expiry}
          hint={words.expiryHint}
          input={{ type: "datetime-local" }}
          value={expiry}
          onInput={setExpiry}
        />
        {action.problem && <ProblemNotice problem={action.problem} />}
        {action.problem && uncertaintyOf(action.problem)}
        <div class="actions end">
          <button type="button" class="quiet" disabled={action.isRunning} onClick={onClose}>
            {texts.cancel}
          </button>
          <button type="submit" class="primary" aria-disabled={!isComplete || action.isRunning}>
            {isComplete ? words.action : words.noScope}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface ScopeFieldsProps {
  chosen: readonly Scope[];
  onChange(chosen: readonly Scope[]): void;
}

const ScopeFields = ({ chosen, onChange }: ScopeFieldsProps) => (
  <fieldset class="scopes">
    <legend>{words.scopes}</legend>
    {SCOPES.map((scope) => (
      <CheckField
        key={scope}
        label={<code>{scope}</code>}
        hint={keysTexts.scopes[scope]}
        isChecked={chosen.includes(scope)}
        onChange={(isChecked) =>
          onChange(isChecked ? [...chosen, scope] : chosen.filter((other) => other !== scope))
        }
      />
    ))}
  </fieldset>
);
