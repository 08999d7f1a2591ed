import { useState } from "preact/hooks";
import type { ApiKeyDto, CreatedApiKeyDto } from "../../../../sdk/src/generated/types.ts";
import { call, type Problem } from "../../app/api.ts";
import { Question } from "../../components/dialog.tsx";
import { GraceField } from "../../components/secret.tsx";
import { keysTexts } from "../../texts/keys.ts";
import { texts } from "../../texts.ts";

interface KeyQuestionProps {
  apiKey: ApiKeyDto;
  onClose(): void;
}

interface RotateProps extends KeyQuestionProps {
  /** Gets the new key, and how long the former one works. */
  onRotated(key: CreatedApiKeyDto, note: string): void;
}

const DEFAULT_GRACE_MINUTES = 60;

const graceOf = (minutes: number) =>
  texts.secret.graces.find((grace) => grace.minutes === minutes)?.label ?? "";

/** Replaces a key after a question, which asks how long the former one works. */
export function RotateKey({ apiKey, onRotated, onClose }: RotateProps) {
  const words = keysTexts.rotate;
  const [minutes, setMinutes] = useState(DEFAULT_GRACE_MINUTES);
  return (
    <Question
      title={words.title(apiKey.name)}
      action={words.confirm}
      act={async () => {
        const created = await call<CreatedApiKeyDto>("POST", `/api/keys/${apiKey.id}/rotate`, {
          body: { grace_minutes: minutes },
        });
        onRotated(created, minutes === 0 ? words.ended : words.worksFor(graceOf(minutes)));
      }}
      problemNote={uncertaintyOf}
      onClose={onClose}
    >
      <p>{words.consequence}</p>
      <GraceField
        hint={minutes === 0 ? words.noGrace : words.grace}
        minutes={minutes}
        onChange={setMinutes}
      />
    </Question>
  );
}

/** Without an answer of Herald there may be a new key. */
export const uncertaintyOf = ({ status }: Problem) =>
  status === 0 || status >= 500 ? <p>{keysTexts.uncertain}</p> : undefined;

/** Ends a key after a question. */
export function RevokeKey({ apiKey, onClose }: KeyQuestionProps) {
  const words = keysTexts.revoke;
  return (
    <Question
      title={words.title(apiKey.name)}
      action={words.confirm}
      act={async () => {
        await call("DELETE", `/api/keys/${apiKey.id}`);
        onClose();
      }}
      onClose={onClose}
    >
      <p>{words.consequence(keysTexts.excerpt(apiKey.prefix, apiKey.last4))}</p>
    </Question>
  );
}
