interface ExchangeParams {
  publicUrl: string;
  code: string;
  state: string;
  redirectUri: string;
}

/** The command that exchanges a code, to be pasted into any shell whatever the values are. The key stays in its variable. */
export const exchangeCommand = ({ publicUrl, code, state, redirectUri }: ExchangeParams): string =>
  [
    `curl -sS ${shellQuote(`${publicUrl}/api/marketing/oauth/exchange`)}`,
    '-H "x-svc-api-key: $API_KEY"',
    `-d ${shellQuote(toJsonObject({ code, state, redirect_uri: redirectUri }))}`,
  ].join(" \\\n  ");

const shellQuote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const toJsonObject = (texts: Record<string, string>): string =>
  `{${Object.entries(texts)
    .map(([name, text]) => `"${name}": "${escapeText(text)}"`)
    .join(", ")}}`;

/**
 * Inside a JSON string, without a sign that some shell takes for its own even in single quotes (fish a double backslash,
 * csh an exclamation mark), and without one that a person who reads the command before running it would not see.
 */
const escapeText = (text: string): string =>
  text.replaceAll(
    /["'\\!]|[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
