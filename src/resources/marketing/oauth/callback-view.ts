import { type Html, html, type View } from "../../../http/views/view.ts";
import { exchangeCommand } from "./exchange-command.ts";

/** The addresses that the page names. */
export interface CallbackAddresses {
  publicUrl: string;
  /** The one that a state is bound to when nobody named another, and that brought the person here. */
  redirectUri: string;
}

/** Shows the button, which is of no use without it, and lets it copy. Where the clipboard is closed, as on plain http, the old way may do. */
const COPY_SCRIPT = `
const [actions, copy, said, command] = ["actions", "copy", "said", "command"].map((id) => document.getElementById(id));
actions.hidden = false;
copy.addEventListener("click", async () => {
  getSelection().selectAllChildren(command);
  const copied = await navigator.clipboard?.writeText(command.textContent).then(() => true, () => false);
  said.textContent = copied || document.execCommand("copy") ? "Copied" : "Selected: copy it with your keyboard";
});
`;

/** The platform has agreed: how to make an ad account of it. */
export function grantedView(granted: { code: string; state: string }, addresses: CallbackAddresses): View {
  const { publicUrl, redirectUri } = addresses;
  return {
    title: "The ad platform has agreed",
    content: html`<p>It has sent a code and a state. Hand both to Herald <strong>within half a minute</strong>, and once: after that the
platform no longer takes the code.</p>
<h2>1. Exchange the code</h2>
<p>Set <code>API_KEY</code> to an API key with the scope <code>marketing:manage</code>, and run this. It also names the
<code>redirect_uri</code> that the two belong to.</p>
<p id="actions" class="actions" hidden><button id="copy" type="button">Copy the command</button><span id="said" class="quiet" role="status"></span></p>
<pre id="command" class="whole">${exchangeCommand({ publicUrl, redirectUri, ...granted })}</pre>
<h2>2. Choose the accounts</h2>
<p>The answer lists the ad accounts that were granted; new ones are <code>available</code>. Herald works with those that you make active:</p>
<pre>PATCH ${publicUrl}/api/marketing/ad-accounts/{id}
{"status": "active"}</pre>
<footer>Your own program can do all this by itself. If it asks for the login's address with a <code>redirect_uri</code> of its own,
people come back to it, and nobody sees this page.</footer>`,
    script: COPY_SCRIPT,
  };
}

export interface LoginError {
  error: string;
  error_reason?: string;
  error_description?: string;
}

/** The platform has not agreed: what it said, and how to try again. */
export function deniedView(loginError: LoginError, { publicUrl }: CallbackAddresses): View {
  const { error, error_reason: reason, error_description: description } = loginError;
  return {
    title: "Nothing was connected",
    content: html`<p>The ad platform's login ended without consent. Nothing was stored, and nothing has changed.</p>
${description ? html`<blockquote>${description}</blockquote>` : undefined}
<dl>
${entry("Error", error)}${reason ? entry("Reason", reason) : undefined}
</dl>
<h2>To try again</h2>
<p>Ask for a new address, open it, and agree to what the platform asks. Without <code>ads_management</code> no ad account can be
connected.</p>
<pre>GET ${publicUrl}/api/marketing/oauth/url</pre>`,
  };
}

const entry = (name: string, value: string): Html => html`<dt>${name}</dt><dd><code>${value}</code></dd>`;
