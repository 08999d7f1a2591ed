import { chatError } from "../chat-error.ts";
import { typeOf } from "../templates/component-rules.ts";
import { type Component, type Template, templatesOf } from "../templates/template.ts";
import { variablesIn } from "../templates/variables.ts";
import type { Scene } from "./content-rules.ts";
import type { Part } from "./part.ts";

/** A template must be there, approved in that language, and get exactly the values it has places for. */
export function checkTemplateMessage(content: Part, { ground, sender, recipient }: Scene): void {
  const name = content.requiredText("name");
  const language = content.object("language").requiredText("code");
  const template = templatesOf(ground, sender.waba.id).find(
    (candidate) => candidate.name === name && candidate.language === language,
  );
  if (template?.status === "PAUSED") throw chatError(132015, `template ${name} is paused`);
  if (template?.status !== "APPROVED")
    throw chatError(132001, `template name (${name}) does not exist in ${language}`);
  if (template.category === "AUTHENTICATION" && recipient.waId === undefined)
    throw chatError(131062, "Authentication templates need a phone number.");
  checkParameters(template, content.list("components", { least: 0 }));
}

/** How many values each of the template's places takes, of which type where it is not text, and for which names if it has names. */
interface Place {
  count: number;
  type?: string;
  names?: readonly string[];
}

function checkParameters(template: Template, given: readonly Part[]): void {
  const places = placesOf(template);
  const values = new Map(given.map((part) => [placeOf(part), part.list("parameters", { least: 0 })]));
  for (const place of new Set([...places.keys(), ...values.keys()])) {
    const expected = places.get(place) ?? { count: 0 };
    const parameters = values.get(place) ?? [];
    if (parameters.length !== expected.count && !isQuickReply(template, place))
      throw chatError(
        132000,
        `${place}: number of localizable_params (${parameters.length}) does not match the expected number of params (${expected.count})`,
      );
    for (const parameter of parameters) checkParameter(place, parameter, expected);
  }
}

function checkParameter(place: string, parameter: Part, { type, names }: Place): void {
  const found = parameter.requiredText("type");
  if (type !== undefined && found !== type)
    throw chatError(132012, `${place}: expected ${type}, received ${found}`);
  if (found === "text") parameter.requiredText("text");
  if (names && !names.includes(parameter.text("parameter_name") ?? ""))
    throw chatError(132012, `${place}: parameter_name must be one of {${names.join(", ")}}`);
}

/** `header`, `body`, or `button 0`. */
function placeOf(part: Part): string {
  const type = part.requiredText("type").toLowerCase();
  return type === "button" ? `button ${part.index()}` : type;
}

function placesOf(template: Template): Map<string, Place> {
  const places = new Map<string, Place>();
  for (const component of template.components) {
    if (typeOf(component) === "HEADER") places.set("header", headerPlace(template, component));
    if (typeOf(component) === "BODY") places.set("body", bodyPlace(template, component));
    for (const [index, button] of buttonsOf(component).entries())
      places.set(`button ${index}`, { count: buttonCount(button) });
  }
  return places;
}

function headerPlace(template: Template, component: Component): Place {
  const type = String(component.format).toLowerCase();
  return type === "text" ? textPlace(template, component) : { count: 1, type };
}

/** The platform's own text of a one-time password has the code in it. */
const bodyPlace = (template: Template, component: Component): Place =>
  template.category === "AUTHENTICATION" && component.text === undefined
    ? { count: 1 }
    : textPlace(template, component);

function textPlace({ parameter_format: format }: Template, { text }: Component): Place {
  const names = variablesIn(text);
  return { count: names.length, ...(format === "NAMED" ? { names } : {}) };
}

/** Elsewhere than in their own component buttons are overlooked, and nobody has checked them. */
const buttonsOf = (component: Component): Component[] =>
  typeOf(component) === "BUTTONS" ? (component.buttons as Component[]) : [];

const buttonCount = ({ type, url }: Component): number =>
  ["OTP", "COPY_CODE"].includes(String(type).toUpperCase()) || variablesIn(url).length > 0 ? 1 : 0;

/** Its payload may be given or not. */
function isQuickReply({ components }: Template, place: string): boolean {
  const button = components.flatMap(buttonsOf)[Number(place.replace("button ", ""))];
  return place.startsWith("button ") && String(button?.type).toUpperCase() === "QUICK_REPLY";
}
