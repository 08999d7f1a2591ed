import { type Html, html } from "../../runtime/html.ts";
import { PERSON } from "../built-in-assets.ts";
import type { Reply } from "../wire/call.ts";
import type { Choice, Consent } from "./consent.ts";
import type { Decision } from "./decide.ts";
import { PERMISSIONS } from "./permissions.ts";
import { renderView } from "./view.ts";

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
