import { invalidParameter } from "../../wire/graph-error.ts";
import { plainText } from "../../wire/plain-text.ts";
import { type Component, templateError } from "./template.ts";
import { missingField, variablesIn } from "./variables.ts";

const MAX_BUTTONS = 10;
const MAX_BUTTON_TEXT_LENGTH = 25;

/** Required fields per type of button. */
const REQUIRED_FIELDS: Readonly<Record<string, readonly string[]>> = {
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
  if (buttons.length > MAX_BUTTONS)
    throw invalidParameter(`Param buttons must have at most ${MAX_BUTTONS} buttons`);
  for (const button of buttons) checkButton((button ?? {}) as Component);
}

function checkButton(button: Component): void {
  const requiredFields = REQUIRED_FIELDS[plainText(button.type).toUpperCase()];
  if (!requiredFields)
    throw invalidParameter(`Param buttons[type] must be one of {${Object.keys(REQUIRED_FIELDS).join(", ")}}`);
  const urlFields = variablesIn(button.url).length > 0 ? ["example"] : [];
  for (const field of [...requiredFields, ...urlFields])
    if (button[field] === undefined) throw missingField("BUTTONS", field);
  if (plainText(button.text ?? "").length > MAX_BUTTON_TEXT_LENGTH)
    throw templateError(
      2388040,
      "Character limit exceeded",
      `A button's text is limited to ${MAX_BUTTON_TEXT_LENGTH} characters.`,
    );
}
