import { type Html, html, type View } from "../../../http/views/view.ts";
import { exchangeCommand } from "./exchange-command.ts";

/** The URLs that the view shows. */
export interface CallbackAddresses {
  publicUrl: string;
  /** The default redirect_uri: the state is bound to it, and it led the person here. */
  redirectUri: string;
}

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
export function grantedView(granted: { code: string; state: string }, addresses: CallbackAddresses): View {
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
    script: COPY_SCRIPT,
  };
}

export interface LoginError {
  error: string;
  error_reason?: string;
  error_description?: string;
}

/** Access was not granted: shows the platform's reason and how to try again. */
export function deniedView(loginError: LoginError, { publicUrl }: CallbackAddresses): View {
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
  };
}

const entry = (name: string, value: string): Html => html`<dt>${name}</dt><dd><code>${value}</code></dd>`;
