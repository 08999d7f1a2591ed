import { invalidParameter } from "../../wire/graph-error.ts";
import { plainText } from "../../wire/plain-text.ts";
import { checkButtons } from "./button-rules.ts";
import { type Category, type Component, type ParameterFormat, templateError } from "./template.ts";
import {
  beginsOrEndsWithVariable,
  checkExamples,
  hasValidNames,
  isMostlyVariables,
  missingField,
  variablesIn,
} from "./variables.ts";

/** Properties of the template that the rules of a component depend on. */
interface TemplateTraits {
  category: Category;
  format: ParameterFormat;
}

const MAX_TEXT_LENGTHS = { HEADER: 60, BODY: 1024, FOOTER: 60 } as const;
/** Formats without text and example: each message provides the place or the product. */
const BARE_HEADER_FORMATS = ["LOCATION", "PRODUCT"];
const HEADER_FORMATS = ["TEXT", "IMAGE", "VIDEO", "DOCUMENT", ...BARE_HEADER_FORMATS];
const MAX_CODE_EXPIRATION_MINUTES = 90;

const RULES: Readonly<Record<string, (component: Component, traits: TemplateTraits) => void>> = {
  HEADER: checkHeader,
  BODY: checkBody,
  FOOTER: checkFooter,
  BUTTONS: ({ buttons }) => checkButtons(buttons),
  CAROUSEL: () => {},
  LIMITED_TIME_OFFER: () => {},
};

export const componentTypeOf = ({ type }: Component): string => plainText(type).toUpperCase();

/** Rejects components that the platform refuses before a review. */
export function checkComponents(components: readonly Component[], traits: TemplateTraits): void {
  const types = components.map(componentTypeOf);
  const unknown = types.find((type) => !RULES[type]);
  if (unknown !== undefined)
    throw invalidParameter(`Param components[type] must be one of {${Object.keys(RULES).join(", ")}}`);
  if (new Set(types).size < types.length)
    throw invalidParameter("Param components must have at most one component of each type");
  if (!types.includes("BODY"))
    throw templateError(2388072, "Message body is missing", "The template must have a body.");
  for (const component of components) RULES[componentTypeOf(component)]?.(component, traits);
}

function readText(component: Component, type: keyof typeof MAX_TEXT_LENGTHS): string {
  const { text } = component;
  if (typeof text !== "string" || text.trim() === "") throw missingField(type, "text");
  if (text.length > MAX_TEXT_LENGTHS[type])
    throw templateError(
      2388040,
      "Character limit exceeded",
      `The ${type.toLowerCase()} text is limited to ${MAX_TEXT_LENGTHS[type]} characters.`,
    );
  return text;
}

const headerError = (reason: string) => templateError(2388047, "Message header is invalid", reason);

function checkHeader(component: Component, { format: parameterFormat }: TemplateTraits): void {
  const format = plainText(component.format ?? "").toUpperCase();
  if (!HEADER_FORMATS.includes(format))
    throw headerError(`The format must be one of {${HEADER_FORMATS.join(", ")}}.`);
  if (BARE_HEADER_FORMATS.includes(format)) return;
  const example = (component.example ?? {}) as Component;
  if (format !== "TEXT") {
    if (!Array.isArray(example.header_handle) || example.header_handle.length === 0)
      throw missingField("HEADER", "example");
    return;
  }
  const text = readText(component, "HEADER");
  const names = variablesIn(text);
  if (names.length > 1) throw headerError("A header can have at most one variable.");
  if (!hasValidNames(names, parameterFormat))
    throw headerError("Variables must be numbered from 1, or named in lowercase letters.");
  if (/[\n*~`]|\p{Extended_Pictographic}/u.test(text))
    throw headerError("A header can't have new lines, formatting characters or emojis.");
  checkExamples({ type: "HEADER", example, names, format: parameterFormat });
}

function checkBody(component: Component, { category, format }: TemplateTraits): void {
  if (category === "AUTHENTICATION" && component.text === undefined) return; // the platform provides the text
  const text = readText(component, "BODY");
  const names = variablesIn(text);
  if (!hasValidNames(names, format))
    throw templateError(
      2388072,
      "Message body is invalid",
      "Variables must be numbered from 1, or named in lowercase letters.",
    );
  if (beginsOrEndsWithVariable(text))
    throw templateError(
      2388299,
      "Variables at the start or the end",
      "Variables can't be at the start or end of the template.",
    );
  if (isMostlyVariables(text))
    throw templateError(
      2388293,
      "Too many variables for the length",
      "This template has too many variables for its length. Reduce the number of variables or increase the message length.",
    );
  checkExamples({ type: "BODY", example: component.example, names, format });
}

const footerError = (reason: string) => templateError(2388073, "Message footer is invalid", reason);

function checkFooter(component: Component, { category }: TemplateTraits): void {
  // The platform provides the text of a footer with the lifetime of a code.
  if (category === "AUTHENTICATION" && component.code_expiration_minutes !== undefined)
    checkExpiration(component.code_expiration_minutes);
  else if (variablesIn(readText(component, "FOOTER")).length > 0)
    throw footerError("The footer can't have variables.");
}

function checkExpiration(given: unknown): void {
  const minutes = Number(plainText(given));
  if (!Number.isInteger(minutes) || minutes < 1 || minutes > MAX_CODE_EXPIRATION_MINUTES)
    throw footerError(`code_expiration_minutes must be between 1 and ${MAX_CODE_EXPIRATION_MINUTES}.`);
}
