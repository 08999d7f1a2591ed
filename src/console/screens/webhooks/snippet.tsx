import { useState } from "preact/hooks";
import { CodeBlock } from "../../components/code.tsx";
import { SelectField } from "../../components/field.tsx";
import { webhooksTexts } from "../../texts/webhooks.ts";
import { LANGUAGES, type Language, PROGRAMS } from "./programs.ts";

const words = webhooksTexts.snippet;

/** A program that verifies deliveries, in the language that the person chooses. */
export function Snippet() {
  const [language, setLanguage] = useState<Language>("sdk");
  const { code, command } = PROGRAMS[language];
  return (
    <div class="snippet">
      <h3>{words.title}</h3>
      <p class="soft">{words.hint}</p>
      <SelectField
        label={words.language}
        value={language}
        options={LANGUAGES.map((value) => ({ value, label: words.languages[value].label }))}
        onChange={(value) => setLanguage(value as Language)}
      />
      <CodeBlock text={code} label={words.label} />
      <p class="soft">
        {words.languages[language].hint} <code>{command}</code>
      </p>
      <p class="actions">
        {language === "sdk" && (
          <a href="/docs/guides/sdk#install" target="_blank" rel="noreferrer">
            {words.installSdk}
          </a>
        )}
        <a href="/docs/guides/receiving#verify-signatures" target="_blank" rel="noreferrer">
          {words.rules}
        </a>
      </p>
    </div>
  );
}
