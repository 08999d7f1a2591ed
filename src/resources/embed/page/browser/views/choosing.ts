import { element } from "../../../../../http/views/browser/element.ts";
import type { PageTexts } from "../../texts/shape.ts";
import { confirmButton, form, heading, paragraph, plainButton } from "../controls.ts";
import type { Choice } from "../state.ts";
import type { View } from "../view.ts";
import type { Actions } from "./actions.ts";
import { progressList } from "./progress.ts";

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
    heading(choosing.heading[platform], { "data-focus": true, tabindex: "-1", id: HEADING_ID }),
    paragraph(choosing.body),
    form(
      submit,
      element(
        "div",
        { class: "choices", role: "radiogroup", "aria-labelledby": HEADING_ID },
        ...options.map(({ label }) => label),
      ),
      element(
        "div",
        { class: "actions" },
        confirmButton(choosing.confirm),
        plainButton({ label: cancel, action: "cancel", onClick: actions.cancel }),
      ),
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
  const text = element(
    "span",
    {},
    element("strong", {}, name),
    detail ? element("small", {}, detail) : undefined,
  );
  return { input, label: element("label", {}, input, text) };
}
