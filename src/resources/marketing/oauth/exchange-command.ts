interface ExchangeParams {
  publicUrl: string;
  code: string;
  state: string;
  redirectUri: string;
}

/** Returns a curl command that is safe to paste into any shell. The API key stays in a variable. */
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
 * Escapes JSON string content, including characters that some shells interpret within single quotes (fish: a
 * double backslash, csh: an exclamation mark) and characters that a reader would not see.
 */
const escapeText = (text: string): string =>
  text.replaceAll(
    /["'\\!]|[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
