import { element } from "../../../../../http/views/browser/element.ts";
import type { PageTexts } from "../../texts/shape.ts";
import { confirmButton, form, heading, plainButton } from "../controls.ts";
import type { Actions } from "./actions.ts";
import { progressList } from "./progress.ts";

const MAX_TRIES = 3;
const PIN_DIGITS = 6;
const [INPUT_ID, PROBLEM_ID, HINT_ID] = ["pin", "pin-problem", "pin-hint"];

/** Asks for the PIN of the number's two-step verification. */
export function pinView(texts: PageTexts, actions: Actions, triesLeft: number): Node[] {
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
    "aria-describedby": `${HINT_ID} ${PROBLEM_ID}`,
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
    element("p", { id: HINT_ID }, pin.body),
    form(
      submit,
      element("label", { for: INPUT_ID, class: "field" }, pin.label),
      input,
      problem,
      element(
        "div",
        { class: "actions" },
        confirmButton(pin.confirm),
        plainButton({ label: cancel, action: "cancel", onClick: actions.cancel }),
      ),
    ),
  ];
}

const isPin = (text: string): boolean => /^\d{6}$/.test(text);
