import { invalidParameter } from "../../graph/graph-error.ts";
import { plainText } from "../../graph/params.ts";
import { type Category, type Component, type ParameterFormat, templateError } from "./template.ts";

/** Properties of the template that the rules of a component depend on. */
interface TemplateTraits {
  category: Category;
  format: ParameterFormat;
}

/** The traits of the template and the types of all its components. */
interface Surroundings extends TemplateTraits {
  types: readonly string[];
}

const MAX_TEXT_LENGTHS = { HEADER: 60, BODY: 1024, FOOTER: 60 } as const;
/** Formats without text and example: each message provides the place or the product. */
const BARE_HEADER_FORMATS = ["LOCATION", "PRODUCT"];
const HEADER_FORMATS = ["TEXT", "IMAGE", "VIDEO", "DOCUMENT", ...BARE_HEADER_FORMATS];
const MAX_CODE_EXPIRATION_MINUTES = 90;

const RULES: Readonly<Record<string, (component: Component, surroundings: Surroundings) => void>> = {
  HEADER: checkHeader,
  BODY: checkBody,
  FOOTER: checkFooter,
  BUTTONS: ({ buttons }) => checkButtons(buttons),
  CAROUSEL: () => {},
  LIMITED_TIME_OFFER: () => {},
  CALL_PERMISSION_REQUEST: (_component, surroundings) => checkCallPermissionRequest(surroundings),
};

/** Interactive components, with which a call permission request can't be combined. */
const INTERACTIVE_TYPES = ["BUTTONS", "CAROUSEL", "LIMITED_TIME_OFFER"];

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
  for (const component of components) RULES[componentTypeOf(component)]?.(component, { ...traits, types });
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

function checkCallPermissionRequest({ category, types }: Surroundings): void {
  if (category === "AUTHENTICATION")
    throw callPermissionError("An authentication template can't have a call permission request.");
  const other = types.find((type) => INTERACTIVE_TYPES.includes(type));
  if (other !== undefined)
    throw callPermissionError(
      `A call permission request can't be combined with a component of type ${other}.`,
    );
}

const callPermissionError = (reason: string) =>
  invalidParameter("Param components has an invalid call permission request", {
    userTitle: "Call permission request is invalid",
    userMessage: reason,
  });

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

function checkButtons(buttons: unknown): void {
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

/**
 * Matches spaces as part of the name; they are trimmed later. A pattern with separate spaces would backtrack
 * in cubic time.
 */
const VARIABLE = /\{\{([^{}]*)\}\}/g;

/** Returns the distinct variable names of a text in order of appearance. */
export const variablesIn = (text: unknown): string[] =>
  typeof text === "string"
    ? [...new Set([...text.matchAll(VARIABLE)].map(([, name = ""]) => name.trim()))]
    : [];

/** True when the names follow the format: `1`, `2`, ... or lowercase names. */
const hasValidNames = (names: readonly string[], format: ParameterFormat): boolean =>
  format === "NAMED"
    ? names.every((name) => /^[a-z][a-z0-9_]*$/.test(name))
    : [...names].sort((a, b) => Number(a) - Number(b)).every((name, index) => name === String(index + 1));

const beginsOrEndsWithVariable = (text: string): boolean => /^\s*\{\{|\}\}\s*$/.test(text);

/** True when the text has at most as many words as variables; the platform refuses such a text. */
function isMostlyVariables(text: string): boolean {
  const words = text.replaceAll(VARIABLE, " ").match(/[\p{L}\p{N}]+/gu) ?? [];
  const count = variablesIn(text).length;
  return count > 0 && words.length <= count;
}

interface ExampleCheck {
  /** The component's type. */
  type: string;
  example: unknown;
  names: readonly string[];
  format: ParameterFormat;
}

/** Every variable needs an example for the review. */
function checkExamples({ type, example, names, format }: ExampleCheck): void {
  if (names.length === 0) return;
  const field = `${type.toLowerCase()}_text`;
  const given = (example ?? {}) as Record<string, unknown>;
  const complete =
    format === "NAMED"
      ? coversNames(given[`${field}_named_params`], names)
      : isRowOfLength(type === "BODY" ? firstRow(given[field]) : given[field], names.length);
  if (!complete) throw missingField(type, "example");
}

const firstRow = (rows: unknown): unknown => (Array.isArray(rows) ? rows[0] : undefined);

const isRowOfLength = (row: unknown, length: number): boolean =>
  Array.isArray(row) && row.length === length && row.every((value) => typeof value === "string");

function coversNames(params: unknown, names: readonly string[]): boolean {
  if (!Array.isArray(params)) return false;
  const given = params.filter((param) => typeof param?.example === "string").map((param) => param.param_name);
  return names.every((name) => given.includes(name));
}

const missingField = (type: string, field: string) =>
  templateError(
    2388043,
    'Message template "components" param is missing expected field(s)',
    `component of type ${type} is missing expected field(s) (${field})`,
  );
