import { element } from "../../../../http/views/browser/element.ts";
import type { PageTexts } from "../page-data.ts";
import {
  type Actions,
  buttonRow,
  cancelButton,
  confirmButton,
  FOCUS_FIRST,
  form,
  heading,
  labelledText,
  paragraph,
  progressList,
} from "./controls.ts";
import type { Choice, View } from "./state.ts";

const HEADING_ID = "choices";

/** Asks which of several numbers, pages or photo accounts to connect. The first one is preselected. */
export function choosingView(
  texts: PageTexts,
  actions: Actions,
  { platform, choices }: Extract<View, { name: "choosing" }>,
): Node[] {
  const { choosing, cancel } = texts;
  const options = choices.map((choice, index) => choiceOption(choice, index === 0));
  const chosen = () => options.find(({ input }) => input.checked)?.input.value;
  const submit = () => {
    const assetId = chosen();
    if (assetId !== undefined) actions.choose(assetId);
  };
  return [
    progressList(texts, "connect"),
    heading(choosing.heading[platform], { ...FOCUS_FIRST, id: HEADING_ID }),
    paragraph(choosing.body),
    form(
      submit,
      element(
        "div",
        { class: "choices", role: "radiogroup", "aria-labelledby": HEADING_ID },
        ...options.map(({ label }) => label),
      ),
      buttonRow(confirmButton(choosing.confirm), cancelButton(cancel, actions)),
    ),
  ];
}

function choiceOption({ asset_id, name, detail }: Choice, checked: boolean) {
  const input = element("input", {
    type: "radio",
    name: "asset",
    value: asset_id,
    "data-asset": asset_id,
    checked,
  });
  return { input, label: element("label", {}, input, labelledText(name, detail)) };
}

const MAX_TRIES = 3;
const PIN_DIGITS = 6;
const [INPUT_ID, PROBLEM_ID, HINT_ID, NUMBER_ID] = ["pin", "pin-problem", "pin-hint", "pin-number"];

/** Asks for the PIN of the number's two-step verification. */
export function pinView(
  texts: PageTexts,
  actions: Actions,
  { triesLeft, number }: Extract<View, { name: "pin" }>,
): Node[] {
  const { pin, cancel } = texts;
  const isRepeated = triesLeft < MAX_TRIES;
  const problem = element("p", { id: PROBLEM_ID, class: "problem", role: "alert" });
  const input = element("input", {
    id: INPUT_ID,
    name: "pin",
    type: "text",
    inputmode: "numeric",
    autocomplete: "off",
    maxlength: String(PIN_DIGITS),
    "aria-describedby": `${NUMBER_ID} ${HINT_ID} ${PROBLEM_ID}`,
    "aria-invalid": isRepeated && "true",
    "data-focus": true,
  });
  if (isRepeated) problem.textContent = `${pin.wrong} ${pin.left[triesLeft] ?? ""}`.trim();
  const submit = () => {
    if (isPin(input.value)) return actions.submitPin(input.value);
    problem.textContent = pin.format;
    input.setAttribute("aria-invalid", "true");
    input.focus();
  };
  return [
    progressList(texts, "connect"),
    heading(pin.heading, {}),
    ...(number ? [element("p", { id: NUMBER_ID, class: "asset" }, numberText(number))] : []),
    element("p", { id: HINT_ID }, pin.body),
    form(
      submit,
      element("label", { for: INPUT_ID, class: "field" }, pin.label),
      input,
      problem,
      buttonRow(confirmButton(pin.confirm), cancelButton(cancel, actions)),
    ),
  ];
}

/** The phone number with its name; the platform may report the name only. */
const numberText = ({ name, detail }: Choice): HTMLElement =>
  detail === undefined ? labelledText(name) : labelledText(detail, name);

const isPin = (text: string): boolean => /^\d{6}$/.test(text);
