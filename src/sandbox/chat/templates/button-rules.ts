import { invalidParameter } from "../../wire/graph-error.ts";
import { plainText } from "../../wire/plain-text.ts";
import { type Component, refusedTemplate } from "./template.ts";
import { missingField, variablesIn } from "./variables.ts";

const MOST = 10;
const LONGEST_TEXT = 25;

/** The kinds of buttons and what each must have. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  QUICK_REPLY: ["text"],
  URL: ["text", "url"],
  PHONE_NUMBER: ["text", "phone_number"],
  COPY_CODE: ["example"],
  OTP: ["otp_type"],
  FLOW: ["text"],
  CATALOG: ["text"],
  MPM: ["text"],
  SPM: ["text"],
  VOICE_CALL: ["text"],
};

export function checkButtons(buttons: unknown): void {
  if (!Array.isArray(buttons) || buttons.length === 0) throw missingField("BUTTONS", "buttons");
  if (buttons.length > MOST) throw invalidParameter(`Param buttons must have at most ${MOST} buttons`);
  for (const button of buttons) checkButton((button ?? {}) as Component);
}

function checkButton(button: Component): void {
  const needs = NEEDS[plainText(button.type).toUpperCase()];
  if (!needs) throw invalidParameter(`Param buttons[type] must be one of {${Object.keys(NEEDS).join(", ")}}`);
  const dynamic = variablesIn(button.url).length > 0 ? ["example"] : [];
  for (const field of [...needs, ...dynamic])
    if (button[field] === undefined) throw missingField("BUTTONS", field);
  if (plainText(button.text ?? "").length > LONGEST_TEXT)
    throw refusedTemplate(
      2388040,
      "Character limit exceeded",
      `A button's text is limited to ${LONGEST_TEXT} characters.`,
    );
}
