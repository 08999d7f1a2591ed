interface Exchange {
  publicUrl: string;
  code: string;
  state: string;
  redirectUri: string;
}

/** The command that exchanges a code, to be pasted into any shell whatever the values are. The key stays in its variable. */
export const exchangeCommand = ({ publicUrl, code, state, redirectUri }: Exchange): string =>
  [
    `curl -sS ${quoted(`${publicUrl}/api/marketing/oauth/exchange`)}`,
    '-H "x-svc-api-key: $API_KEY"',
    `-d ${quoted(jsonObject({ code, state, redirect_uri: redirectUri }))}`,
  ].join(" \\\n  ");

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const jsonObject = (texts: Record<string, string>): string =>
  `{${Object.entries(texts)
    .map(([name, text]) => `"${name}": "${plain(text)}"`)
    .join(", ")}}`;

/**
 * Inside a JSON string, without a sign that some shell takes for its own even in single quotes (fish a double backslash,
 * csh an exclamation mark), and without one that a person who reads the command before running it would not see.
 */
const plain = (text: string): string =>
  text.replaceAll(/["'\\!]|[^ -~]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
