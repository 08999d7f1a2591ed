import { ApiError, invalidField } from "../../../http/api-error.ts";
import { type Route, route } from "../../../http/route.ts";
import { HTML_REPLY, type Html, html, renderView, type View } from "../../../http/views/view.ts";
import { openObject, Type } from "../../../schema/types.ts";

/** The URLs that the view shows. */
interface CallbackAddresses {
  publicUrl: string;
  /** The default redirect_uri: the state is bound to it, and it led the person here. */
  redirectUri: string;
}

const MAX_PARAM_LENGTH = 4_096;

const callbackParam = (name: string, minLength: 0 | 1) =>
  Type.Optional(
    Type.String({
      minLength,
      maxLength: MAX_PARAM_LENGTH,
      "x-message": `${name} must have ${minLength} to ${MAX_PARAM_LENGTH} characters`,
      examples: ["AQBx7Kq2"],
    }),
  );

/** Parameters that the ad platform appends to the redirect URL; it may append others. */
const callbackQuery = openObject({
  code: callbackParam("code", 1),
  state: callbackParam("state", 1),
  error: callbackParam("error", 1),
  error_reason: callbackParam("error_reason", 0),
  error_description: callbackParam("error_description", 0),
});

/**
 * The default redirect_uri of the ad platform's login, for clients that have no own page for it. The login comes from another
 * site, so that this request has no cookie. If the console of this browser has begun the login, the view hands over to it.
 */
export function callbackRoute(addresses: CallbackAddresses): Route {
  return route({
    method: "get",
    path: "/console/oauth",
    scope: "public",
    undocumented: true,
    summary: "Continue after the ad platform's login; changes nothing and calls no platform",
    query: callbackQuery,
    reply: HTML_REPLY,
    handle({ query, setHeader }) {
      const { code, state, error, ...details } = query;
      if (error !== undefined) return renderView({ setHeader }, deniedView({ error, ...details }, addresses));
      if (code === undefined && state === undefined) throw missingCallbackParams();
      if (code === undefined) throw missingParam("code");
      if (state === undefined) throw missingParam("state");
      return renderView({ setHeader }, grantedView({ code, state }, addresses));
    },
  });
}

const missingCallbackParams = () =>
  new ApiError(
    "validation_failed",
    "The ad platform's login redirects to this page with a code and a state, or with an error; the address has none of them",
  );

const missingParam = (name: string) =>
  invalidField(`/${name}`, `${name} is missing from the address to which the ad platform redirected you`);

/** The console stores the logins that it has begun under this name (src/console/screens/ads/login.ts). */
const HAND_OVER_SCRIPT = `
try {
  const returned = new URLSearchParams(location.search).get("state");
  if (JSON.parse(localStorage.getItem("herald-ads-logins")).some(({ state }) => state === returned)) {
    document.body.hidden = true;
    location.replace("/console/ads/connect" + location.search);
  }
} catch {}
`;

/**
 * Shows the copy button, which needs JavaScript. Falls back to execCommand where the clipboard API is
 * unavailable, as on plain http.
 */
const COPY_SCRIPT = `
const [actions, copy, said, command] = ["actions", "copy", "said", "command"].map((id) => document.getElementById(id));
actions.hidden = false;
copy.addEventListener("click", async () => {
  getSelection().selectAllChildren(command);
  const copied = await navigator.clipboard?.writeText(command.textContent).then(() => true, () => false);
  said.textContent = copied || document.execCommand("copy") ? "Copied" : "Selected: copy it with your keyboard";
});
`;

/** The person has granted access: shows how to exchange the code. */
function grantedView(granted: { code: string; state: string }, addresses: CallbackAddresses): View {
  const { publicUrl, redirectUri } = addresses;
  return {
    title: "Access granted",
    content: html`<p>The ad platform has sent a code and a state. Exchange them with Herald <strong>within half a minute</strong>, and only once:
after that the platform no longer accepts the code.</p>
<h2>1. Exchange the code</h2>
<p>Set <code>API_KEY</code> to an API key with the scope <code>marketing:manage</code>, and run this command. It contains
the <code>redirect_uri</code> for which code and state were issued.</p>
<p id="actions" class="actions" hidden><button id="copy" type="button">Copy the command</button><span id="said" class="quiet" role="status"></span></p>
<pre id="command" class="whole">${exchangeCommand({ publicUrl, redirectUri, ...granted })}</pre>
<h2>2. Choose the accounts</h2>
<p>The response lists the granted ad accounts; new ones are <code>available</code>. Activate those that Herald should work with:</p>
<pre>PATCH ${publicUrl}/api/marketing/ad-accounts/{id}
{"status": "active"}</pre>
<footer>Your own program can do all this: if it requests the login URL with its own <code>redirect_uri</code>, the ad platform
redirects people there, and this page is not shown.</footer>`,
    script: HAND_OVER_SCRIPT + COPY_SCRIPT,
  };
}

interface LoginError {
  error: string;
  error_reason?: string;
  error_description?: string;
}

/** Access was not granted: shows the platform's reason and how to try again. */
function deniedView(loginError: LoginError, { publicUrl }: CallbackAddresses): View {
  const { error, error_reason: reason, error_description: description } = loginError;
  return {
    title: "Nothing was connected",
    content: html`<p>The ad platform's login ended without consent. Nothing was stored or changed.</p>
${description ? html`<blockquote>${description}</blockquote>` : undefined}
<dl>
${entry("Error", error)}${reason ? entry("Reason", reason) : undefined}
</dl>
<h2>To try again</h2>
<p>Request a new login URL, open it, and grant what the platform asks for. Without <code>ads_management</code> no ad account can
be connected.</p>
<pre>GET ${publicUrl}/api/marketing/oauth/url</pre>`,
    script: HAND_OVER_SCRIPT,
  };
}

const entry = (name: string, value: string): Html => html`<dt>${name}</dt><dd><code>${value}</code></dd>`;

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
