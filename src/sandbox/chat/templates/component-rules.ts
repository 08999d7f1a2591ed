import { invalidParameter } from "../../wire/graph-error.ts";
import { plainText } from "../../wire/plain-text.ts";
import { checkButtons } from "./button-rules.ts";
import { type Category, type Component, type ParameterFormat, refusedTemplate } from "./template.ts";
import {
  areNamedWell,
  beginsOrEndsWithVariable,
  checkExamples,
  isMostlyVariables,
  missingField,
  variablesIn,
} from "./variables.ts";

/** What the rules of one component may look at beside it. */
interface Frame {
  category: Category;
  format: ParameterFormat;
}

const LONGEST = { HEADER: 60, BODY: 1024, FOOTER: 60 } as const;
const HEADER_FORMATS = ["TEXT", "IMAGE", "VIDEO", "DOCUMENT", "LOCATION"];

const RULES: Readonly<Record<string, (component: Component, frame: Frame) => void>> = {
  HEADER: checkHeader,
  BODY: checkBody,
  FOOTER: checkFooter,
  BUTTONS: ({ buttons }) => checkButtons(buttons),
  CAROUSEL: () => {},
  LIMITED_TIME_OFFER: () => {},
};

export const typeOf = ({ type }: Component): string => plainText(type).toUpperCase();

/** Refuses components that no reviewer would ever see. */
export function checkComponents(components: readonly Component[], frame: Frame): void {
  const types = components.map(typeOf);
  const unknown = types.find((type) => !RULES[type]);
  if (unknown !== undefined)
    throw invalidParameter(`Param components[type] must be one of {${Object.keys(RULES).join(", ")}}`);
  if (new Set(types).size < types.length)
    throw invalidParameter("Param components must have at most one component of each type");
  if (!types.includes("BODY"))
    throw refusedTemplate(2388072, "Message body is missing", "The template must have a body.");
  for (const component of components) RULES[typeOf(component)]?.(component, frame);
}

function textOf(component: Component, type: keyof typeof LONGEST): string {
  const { text } = component;
  if (typeof text !== "string" || text.trim() === "") throw missingField(type, "text");
  if (text.length > LONGEST[type])
    throw refusedTemplate(
      2388040,
      "Character limit exceeded",
      `The ${type.toLowerCase()} text is limited to ${LONGEST[type]} characters.`,
    );
  return text;
}

const wrongHeader = (why: string) => refusedTemplate(2388047, "Message header is wrong", why);

function checkHeader(component: Component, { format: parameters }: Frame): void {
  const format = plainText(component.format ?? "").toUpperCase();
  if (!HEADER_FORMATS.includes(format))
    throw wrongHeader(`The format must be one of {${HEADER_FORMATS.join(", ")}}.`);
  if (format === "LOCATION") return;
  const example = (component.example ?? {}) as Component;
  if (format !== "TEXT") {
    if (!Array.isArray(example.header_handle) || example.header_handle.length === 0)
      throw missingField("HEADER", "example");
    return;
  }
  const text = textOf(component, "HEADER");
  const names = variablesIn(text);
  if (names.length > 1) throw wrongHeader("A header may have one variable.");
  if (!areNamedWell(names, parameters)) throw wrongHeader("The variables are not named as they should be.");
  if (/[\n*~`]|\p{Extended_Pictographic}/u.test(text))
    throw wrongHeader("A header has no new lines, formatting characters or emojis.");
  checkExamples({ type: "HEADER", example, names, format: parameters });
}

function checkBody(component: Component, { category, format }: Frame): void {
  if (category === "AUTHENTICATION" && component.text === undefined) return; // its text is the platform's own
  const text = textOf(component, "BODY");
  const names = variablesIn(text);
  if (!areNamedWell(names, format))
    throw refusedTemplate(
      2388072,
      "Message body is wrong",
      "The variables are not numbered from 1, or not named in small letters.",
    );
  if (beginsOrEndsWithVariable(text))
    throw refusedTemplate(
      2388299,
      "Variables at the start or the end",
      "Variables can't be at the start or end of the template.",
    );
  if (isMostlyVariables(text))
    throw refusedTemplate(
      2388293,
      "Too many variables for the length",
      "This template has too many variables for its length. Reduce the number of variables or increase the message length.",
    );
  checkExamples({ type: "BODY", example: component.example, names, format });
}

function checkFooter(component: Component): void {
  if (variablesIn(textOf(component, "FOOTER")).length > 0)
    throw refusedTemplate(2388073, "Message footer is wrong", "The footer can't have variables.");
}
