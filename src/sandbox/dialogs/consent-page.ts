import type { Reply } from "../wire/call.ts";
import { PERSON } from "../world.ts";
import type { Choice, Consent } from "./consent.ts";
import { type Html, html } from "./html.ts";
import { page } from "./page.ts";
import { PERMISSIONS } from "./permissions.ts";

/**
 * The page on which a person agrees or not. It needs no script, and a program needs no browser: the form is
 * `POST` to the same path, form encoded, with the dialog's parameters and
 * - `action=grant` or `action=cancel`,
 * - `permission=<name>` for each permission that is granted; one that was asked for and is not sent is declined,
 * - `asset=<id>` for each account, chat account or page that is opened (ad accounts without `act_`),
 * - `expired=<name>` for a permission that was granted once and has run out: no control on the page, for tests.
 */
export function consentPage(path: string, consent: Consent, problem?: string): Reply {
  const { title, notes, permissions, choices, chooses, isDivisible } = consent;
  const content = html`
${problem === undefined ? undefined : html`<p role="alert" data-error>${problem}</p>`}
${notes.map((note) => html`<p class="note">${note}</p>`)}
<form method="post" action="${path}">
${[...consent.hidden].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${group(
  "What it may do",
  permissions.map((name) => permissionRow(name, isDivisible)),
)}
${group(chooses, choices.map(choiceRow))}
<p class="quiet">Afterwards you go back to ${new URL(consent.redirectUri).host}</p>
<div class="actions">
<button name="action" value="grant" data-action="grant" class="main">Continue as ${PERSON.name}</button>
<button name="action" value="cancel" data-action="cancel">Cancel</button>
</div>
</form>`;
  return page({ title, content, status: problem === undefined ? 200 : 400 });
}

const group = (legend: string, rows: readonly Html[]) =>
  rows.length === 0 ? undefined : html`<fieldset><legend>${legend}</legend>${rows}</fieldset>`;

/** What cannot be declined is shown ticked and is not sent: it is granted with the rest. */
const permissionRow = (name: string, canDecline: boolean) => html`
<label><input type="checkbox" name="permission" value="${name}" data-permission="${name}" checked${canDecline ? "" : " disabled"}>
<span>${PERMISSIONS[name]}<small>${name}</small></span></label>`;

const choiceRow = ({ id, name, details, checked }: Choice) => html`
<label><input type="checkbox" name="asset" value="${id}" data-asset="${id}"${checked ? " checked" : ""}>
<span>${name}<small>${details}</small></span></label>`;
