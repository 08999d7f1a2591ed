import { chatError } from "../chat-error.ts";
import { componentTypeOf } from "../templates/component-rules.ts";
import { type Component, type Template, templatesOf } from "../templates/template.ts";
import { variablesIn } from "../templates/variables.ts";
import type { Part } from "./part.ts";
import type { SendAttempt } from "./send-attempt.ts";

/**
 * Requires that the template is approved in the language and that each component gets exactly its parameters.
 */
export function checkTemplateMessage(content: Part, { context, sender, recipient }: SendAttempt): void {
  const name = content.requiredText("name");
  const language = content.object("language").requiredText("code");
  const template = templatesOf(context, sender.waba.id).find(
    (candidate) => candidate.name === name && candidate.language === language,
  );
  if (template?.status === "PAUSED") throw chatError(132015, `template ${name} is paused`);
  if (template?.status !== "APPROVED")
    throw chatError(132001, `template name (${name}) does not exist in ${language}`);
  if (template.category === "AUTHENTICATION" && recipient.waId === undefined)
    throw chatError(131062, "Authentication templates require a phone number.");
  checkParameters(template, content.list("components", { minItems: 0 }));
}

/** The parameters that one component of a template takes: how many, of which type, and with which names. */
interface ParameterSlot {
  count: number;
  type?: string;
  names?: readonly string[];
}

function checkParameters(template: Template, given: readonly Part[]): void {
  const slots = slotsOf(template);
  const values = new Map(given.map((part) => [slotNameOf(part), part.list("parameters", { minItems: 0 })]));
  for (const slotName of new Set([...slots.keys(), ...values.keys()])) {
    const expected = slots.get(slotName) ?? { count: 0 };
    const parameters = values.get(slotName) ?? [];
    if (parameters.length !== expected.count && !isQuickReply(template, slotName))
      throw chatError(
        132000,
        `${slotName}: number of localizable_params (${parameters.length}) does not match the expected number of params (${expected.count})`,
      );
    for (const parameter of parameters) checkParameter(slotName, parameter, expected);
  }
}

function checkParameter(slotName: string, parameter: Part, { type, names }: ParameterSlot): void {
  const found = parameter.requiredText("type");
  if (type !== undefined && found !== type)
    throw chatError(132012, `${slotName}: expected ${type}, received ${found}`);
  if (found === "text") parameter.requiredText("text");
  if (names && !names.includes(parameter.text("parameter_name") ?? ""))
    throw chatError(132012, `${slotName}: parameter_name must be one of {${names.join(", ")}}`);
}

/** Returns `header`, `body` or, for a button, `button 0`. */
function slotNameOf(part: Part): string {
  const type = part.requiredText("type").toLowerCase();
  return type === "button" ? `button ${part.index()}` : type;
}

function slotsOf(template: Template): Map<string, ParameterSlot> {
  const slots = new Map<string, ParameterSlot>();
  for (const component of template.components) {
    if (componentTypeOf(component) === "HEADER") slots.set("header", headerSlot(template, component));
    if (componentTypeOf(component) === "BODY") slots.set("body", bodySlot(template, component));
    for (const [index, button] of buttonsOf(component).entries())
      slots.set(`button ${index}`, { count: buttonParameterCount(button) });
  }
  return slots;
}

function headerSlot(template: Template, component: Component): ParameterSlot {
  const type = String(component.format).toLowerCase();
  return type === "text" ? textSlot(template, component) : { count: 1, type };
}

/** The platform's own text for a one-time password has one parameter, the code. */
const bodySlot = (template: Template, component: Component): ParameterSlot =>
  template.category === "AUTHENTICATION" && component.text === undefined
    ? { count: 1 }
    : textSlot(template, component);

function textSlot({ parameter_format: format }: Template, { text }: Component): ParameterSlot {
  const names = variablesIn(text);
  return { count: names.length, ...(format === "NAMED" ? { names } : {}) };
}

/** Ignores `buttons` outside a BUTTONS component, because nothing has validated them. */
const buttonsOf = (component: Component): Component[] =>
  componentTypeOf(component) === "BUTTONS" ? (component.buttons as Component[]) : [];

const buttonParameterCount = ({ type, url }: Component): number =>
  ["OTP", "COPY_CODE"].includes(String(type).toUpperCase()) || variablesIn(url).length > 0 ? 1 : 0;

/** True for a quick reply button, whose payload is optional. */
function isQuickReply({ components }: Template, slotName: string): boolean {
  const button = components.flatMap(buttonsOf)[Number(slotName.replace("button ", ""))];
  return slotName.startsWith("button ") && String(button?.type).toUpperCase() === "QUICK_REPLY";
}
