import { createHash } from "node:crypto";
import { type Html, html, trustedHtml } from "../../runtime/http/html.ts";
import { PERSON } from "../built-in-assets.ts";
import { Reply } from "../graph/node.ts";
import { type Choice, type Consent, type Decision, PERMISSIONS } from "./consent.ts";

/** A decision that is rejected, and the problem that the page shows. */
interface RejectedDecision {
  decision: Decision;
  problem: string;
}

/**
 * Renders the consent page, which needs no script. The form posts `action` (grant or cancel), `permission`
 * per granted permission, `asset` per chosen asset and, in tests only, `expired` per expired permission.
 */
export function consentView(path: string, consent: Consent, rejected?: RejectedDecision): Reply {
  const { title, notes, permissions, choices, choicesLabel, canDeclinePermissions } = consent;
  const { decision, problem } = rejected ?? {};
  const isGranted = (name: string) =>
    !decision || !canDeclinePermissions || decision.permissions.includes(name);
  const isChosen = ({ id, checked }: Choice) => decision?.assets.includes(id) ?? checked;
  const content = html`
${problem === undefined ? undefined : html`<p role="alert" id="${PROBLEM_ELEMENT_ID}" data-error>${problem}</p>`}
${notes.map((note) => html`<p class="note">${note}</p>`)}
<form method="post" action="${path}">
${[...consent.hidden].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${group({
  legend: "Permissions",
  rows: permissions.map((name) =>
    permissionRow(name, { ticked: isGranted(name), disabled: !canDeclinePermissions }),
  ),
})}
${group({
  legend: choicesLabel,
  rows: choices.map((choice) => choiceRow(choice, { ticked: isChosen(choice) })),
  hasProblem: problem !== undefined,
})}
<p class="quiet">You will return to ${new URL(consent.redirectUri).host}</p>
<div class="actions">
<button name="action" value="grant" data-action="grant" class="main">Continue as ${PERSON.name}</button>
<button name="action" value="cancel" data-action="cancel">Cancel</button>
</div>
</form>`;
  return renderView({ title, content, status: problem === undefined ? 200 : 400 });
}

const PROBLEM_ELEMENT_ID = "problem";

interface Group {
  legend: string;
  rows: readonly Html[];
  hasProblem?: boolean;
}

const group = ({ legend, rows, hasProblem = false }: Group) => {
  const describedBy = hasProblem ? html` aria-describedby="${PROBLEM_ELEMENT_ID}"` : undefined;
  return rows.length === 0
    ? undefined
    : html`<fieldset${describedBy}><legend>${legend}</legend>${rows}</fieldset>`;
};

interface CheckboxState {
  ticked: boolean;
  disabled?: boolean;
}

const checkboxAttributes = ({ ticked, disabled = false }: CheckboxState) =>
  `${ticked ? " checked" : ""}${disabled ? " disabled" : ""}`;

/** A permission that cannot be declined is shown ticked and disabled; it is granted without being sent. */
const permissionRow = (name: string, state: CheckboxState) => html`
<label><input type="checkbox" name="permission" value="${name}" data-permission="${name}"${checkboxAttributes(state)}>
<span>${PERMISSIONS[name]}<small>${name}</small></span></label>`;

const choiceRow = ({ id, name, details }: Choice, state: CheckboxState) => html`
<label><input type="checkbox" name="asset" value="${id}" data-asset="${id}"${checkboxAttributes(state)}>
<span>${name}<small>${details}</small></span></label>`;

/** Styles for a popup 400 to 600 pixels wide, in light and dark mode. */
const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f4f5f7; --paper: #fff; --ink: #1c1e21; --quiet: #5d646e; --line: #d9dce1;
  --main: #5b3fd6; --on-main: #fff; --mark: #ffd84d; --on-mark: #3a2e00; --alert: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #15171a; --paper: #1f2226; --ink: #e8eaed; --quiet: #a0a7b1; --line: #383d44;
    --main: #a794ff; --on-main: #17103a; --mark: #5c4a00; --on-mark: #ffe9a3; --alert: #ff9d94;
  }
}
html { scroll-padding-bottom: 5rem; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }
header { padding: 8px 16px; background: var(--mark); color: var(--on-mark); font-size: 13px; }
header strong { letter-spacing: .04em; text-transform: uppercase; margin-right: 6px; }
main { width: min(560px, 100% - 24px); margin: 12px auto; padding: 20px; background: var(--paper); border: 1px solid var(--line); border-radius: 12px; }
h1 { margin: 0 0 12px; font-size: 20px; line-height: 1.25; }
p { margin: 0 0 8px; overflow-wrap: anywhere; }
fieldset { margin: 14px 0 0; padding: 0; border: 0; }
legend { padding: 0 0 4px; color: var(--quiet); font-size: 13px; font-weight: 600; }
label { display: flex; gap: 10px; padding: 8px 0; border-top: 1px solid var(--line); cursor: pointer; }
label:has(:disabled) { cursor: default; }
input[type=checkbox] { flex: none; width: 18px; height: 18px; margin: 2px 0 0; accent-color: var(--main); }
small { display: block; color: var(--quiet); font-size: 12.5px; overflow-wrap: anywhere; }
.note { padding: 6px 10px; background: var(--ground); border-radius: 8px; font-size: 14px; }
.quiet { margin-top: 14px; color: var(--quiet); font-size: 13px; }
[role=alert] { color: var(--alert); font-weight: 600; }
.actions { position: sticky; bottom: 0; display: flex; flex-direction: row-reverse; gap: 10px; margin: 0 -20px -20px; padding: 12px 20px; background: var(--paper); border-top: 1px solid var(--line); border-radius: 0 0 12px 12px; }
button { flex: 1; min-height: 42px; padding: 8px 14px; border: 1px solid var(--line); border-radius: 8px; background: transparent; color: inherit; font: inherit; font-weight: 600; cursor: pointer; }
button.main { flex: 2; border-color: var(--main); background: var(--main); color: var(--on-main); }
:focus-visible { outline: 2px solid var(--main); outline-offset: 2px; }
`;

const styleHash = createHash("sha256").update(STYLE).digest("base64");

/** Omits `form-action`: Chromium also applies it to later redirects, which lead to the client's pages. */
const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; frame-ancestors 'none'`,
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

interface ViewOptions {
  title: string;
  content: Html;
  status?: number;
}

/**
 * The layout of all dialogs. Its header names the sandbox, so that it cannot be mistaken for a real platform.
 */
function renderView({ title, content, status = 200 }: ViewOptions): Reply {
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} (Sandbox)</title>
<style>${trustedHtml(STYLE)}</style>
</head>
<body>
<header><strong>Sandbox</strong> <span>For development only. This is not a real platform.</span></header>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
  return new Reply(Buffer.from(text), { status, headers: HEADERS });
}

/** Shows an error in place of a dialog. It never redirects, because the redirect_uri is not trusted. */
export const errorView = (message: string): Reply =>
  renderView({
    title: "This request is invalid",
    content: html`<p role="alert" data-error>${message}</p>
<p class="quiet">The app sent a request that the platform would reject.</p>`,
    status: 400,
  });

/** Redirects to the app and keeps the existing query of its URL. */
export function redirectBack(redirectUri: string, answer: Record<string, string | undefined>): Reply {
  const url = new URL(redirectUri);
  const added = new URLSearchParams(
    Object.entries(answer).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  url.search = url.search === "" ? `${added}` : `${url.search}&${added}`;
  const { "content-type": _html, ...headers } = HEADERS;
  return new Reply(Buffer.alloc(0), { status: 302, headers: { ...headers, location: url.href } });
}
