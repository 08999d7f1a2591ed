import { invalidParameter } from "../graph/graph-error.ts";
import { isObject } from "../graph/params.ts";
import { chatError } from "./chat-error.ts";
import { mediaById } from "./media.ts";
import { isWamid, type SendAttempt } from "./people-and-message-ids.ts";
import { componentTypeOf, variablesIn } from "./templates/component-rules.ts";
import { type Component, type Template, templatesOf } from "./templates/template.ts";

type Rule = (message: Part, attempt: SendAttempt) => void;

const MAX_TEXT_LENGTH = 4096;
const MAX_CAPTION_LENGTH = 1024;

/** Checks per message type. The content is stored under the type's name. */
export const CONTENT_RULES: Readonly<Record<string, Rule>> = {
  text: (message) => void message.object("text").requiredText("body", MAX_TEXT_LENGTH),
  image: mediaRule("image"),
  video: mediaRule("video"),
  audio: mediaRule("audio"),
  document: mediaRule("document"),
  sticker: mediaRule("sticker"),
  location: checkLocation,
  contacts: (message) => {
    for (const contact of message.list("contacts")) contact.object("name").requiredText("formatted_name");
  },
  reaction: checkReaction,
  interactive: (message) => checkInteractive(message.object("interactive")),
  template: (message, attempt) => checkTemplateMessage(message.object("template"), attempt),
};

/** Types that can only be received. */
export const INBOUND_ONLY: readonly string[] = ["button", "order", "system", "unsupported", "edit", "revoke"];

function mediaRule(type: string): Rule {
  return (message, { context, sender }) => {
    const content = message.object(type);
    content.text("caption", MAX_CAPTION_LENGTH);
    content.text("filename");
    const [id, link] = [content.text("id"), content.text("link")];
    if ((id === undefined) === (link === undefined))
      throw chatError(131009, `${type} must have an id or a link, and not both`);
    if (link !== undefined && !/^https?:\/\//.test(link))
      throw chatError(131009, `${content.pathOf("link")} is not a valid URL`);
    if (id !== undefined && mediaById(context, id)?.number !== sender.number.id)
      throw chatError(131009, `${content.pathOf("id")} is not the id of a media object of this number`);
  };
}

function checkLocation(message: Part): void {
  const location = message.object("location");
  location.coordinate("latitude", 90);
  location.coordinate("longitude", 180);
}

/** Accepts an empty emoji, which removes the reaction. */
function checkReaction(message: Part, { sender }: SendAttempt): void {
  const reaction = message.object("reaction");
  if (!isWamid(reaction.requiredText("message_id"), sender.number.id))
    throw chatError(131009, "reaction['message_id'] is not the id of a message of this number");
  if (reaction.text("emoji") === undefined)
    throw chatError(131008, "The parameter reaction['emoji'] is required.");
}

const ACTIONS_WITH_BODY: Readonly<Record<string, (action: Part) => void>> = {
  button: (action) => {
    for (const button of action.list("buttons", { maxItems: 3 })) {
      button.oneOf("type", ["reply"]);
      checkChoice(button.object("reply"), 20);
    }
  },
  list: (action) => {
    action.requiredText("button", 20);
    for (const section of action.list("sections", { maxItems: 10 }))
      for (const row of section.list("rows", { maxItems: 10 })) checkChoice(row, 24);
  },
  product_list: (action) => void action.requiredText("catalog_id"),
  catalog_message: (action) => void action.requiredText("name"),
  flow: (action) => void action.requiredText("name"),
  cta_url: (action) => {
    action.requiredText("name");
    action.object("parameters").requiredText("url");
  },
  location_request_message: (action) => void action.requiredText("name"),
  call_permission_request: (action) => void action.requiredText("name"),
  request_contact_info: (action) => void action.requiredText("name"),
  order_details: (action) => void action.requiredText("name"),
  order_status: (action) => void action.requiredText("name"),
  address_message: (action) => void action.requiredText("name"),
  voice_call: (action) => void action.requiredText("name"),
  carousel: (action) => void action.list("cards", { maxItems: 10 }),
};

const ACTIONS_WITHOUT_BODY: typeof ACTIONS_WITH_BODY = {
  product: (action) => {
    action.requiredText("catalog_id");
    action.requiredText("product_retailer_id");
  },
};

const ACTIONS = { ...ACTIONS_WITH_BODY, ...ACTIONS_WITHOUT_BODY };

/** An interactive message has an action of its type and, for most types, a body text. */
function checkInteractive(interactive: Part): void {
  const type = interactive.oneOf("type", Object.keys(ACTIONS));
  if (ACTIONS_WITH_BODY[type]) interactive.object("body").requiredText("text", type === "list" ? 4096 : 1024);
  ACTIONS[type]?.(interactive.object("action"));
}

function checkChoice(choice: Part, maxTitleLength: number): void {
  choice.requiredText("id", 256);
  choice.requiredText("title", maxTitleLength);
}

/**
 * Requires that the template is approved in the language and that each component gets exactly its parameters.
 */
function checkTemplateMessage(content: Part, { context, sender, recipient }: SendAttempt): void {
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
interface Placeholders {
  count: number;
  type?: string;
  names?: readonly string[];
}

function checkParameters(template: Template, given: readonly Part[]): void {
  const placeholders = placeholdersOf(template);
  const values = new Map(given.map((part) => [partNameOf(part), part.list("parameters", { minItems: 0 })]));
  for (const partName of new Set([...placeholders.keys(), ...values.keys()])) {
    const expected = placeholders.get(partName) ?? { count: 0 };
    const parameters = values.get(partName) ?? [];
    if (parameters.length !== expected.count && !isQuickReply(template, partName))
      throw chatError(
        132000,
        `${partName}: number of localizable_params (${parameters.length}) does not match the expected number of params (${expected.count})`,
      );
    for (const parameter of parameters) checkParameter(partName, parameter, expected);
  }
}

function checkParameter(partName: string, parameter: Part, { type, names }: Placeholders): void {
  const found = parameter.requiredText("type");
  if (type !== undefined && found !== type)
    throw chatError(132012, `${partName}: expected ${type}, received ${found}`);
  if (found === "text") parameter.requiredText("text");
  if (names && !names.includes(parameter.text("parameter_name") ?? ""))
    throw chatError(132012, `${partName}: parameter_name must be one of {${names.join(", ")}}`);
}

/** Returns `header`, `body` or, for a button, `button 0`. */
function partNameOf(part: Part): string {
  const type = part.requiredText("type").toLowerCase();
  return type === "button" ? `button ${part.index()}` : type;
}

function placeholdersOf(template: Template): Map<string, Placeholders> {
  const placeholders = new Map<string, Placeholders>();
  for (const component of template.components) {
    if (componentTypeOf(component) === "HEADER")
      placeholders.set("header", headerPlaceholders(template, component));
    if (componentTypeOf(component) === "BODY")
      placeholders.set("body", bodyPlaceholders(template, component));
    for (const [index, button] of buttonsOf(component).entries())
      placeholders.set(`button ${index}`, { count: buttonParameterCount(button) });
  }
  return placeholders;
}

function headerPlaceholders(template: Template, component: Component): Placeholders {
  const type = String(component.format).toLowerCase();
  return type === "text" ? textPlaceholders(template, component) : { count: 1, type };
}

/** The platform's own text for a one-time password has one parameter, the code. */
const bodyPlaceholders = (template: Template, component: Component): Placeholders =>
  template.category === "AUTHENTICATION" && component.text === undefined
    ? { count: 1 }
    : textPlaceholders(template, component);

function textPlaceholders({ parameter_format: format }: Template, { text }: Component): Placeholders {
  const names = variablesIn(text);
  return { count: names.length, ...(format === "NAMED" ? { names } : {}) };
}

/** Ignores `buttons` outside a BUTTONS component, because nothing has validated them. */
const buttonsOf = (component: Component): Component[] =>
  componentTypeOf(component) === "BUTTONS" ? (component.buttons as Component[]) : [];

const buttonParameterCount = ({ type, url }: Component): number =>
  ["OTP", "COPY_CODE"].includes(String(type).toUpperCase()) || variablesIn(url).length > 0 ? 1 : 0;

/** True for a quick reply button, whose payload is optional. */
function isQuickReply({ components }: Template, partName: string): boolean {
  const button = components.flatMap(buttonsOf)[Number(partName.replace("button ", ""))];
  return partName.startsWith("button ") && String(button?.type).toUpperCase() === "QUICK_REPLY";
}

/** A part of a message's content that knows its own path, so that errors can name the wrong value. */
export class Part {
  readonly #values: Record<string, unknown>;
  readonly #at: string;

  constructor(values: unknown, at = "") {
    if (!isObject(values)) throw chatError(131009, `${at} must be a JSON object`);
    this.#values = values;
    this.#at = at;
  }

  has(name: string): boolean {
    return this.#values[name] !== undefined;
  }

  /** The path of a value in errors: `text['body']`. */
  pathOf(name: string): string {
    return this.#at === "" ? name : `${this.#at}['${name}']`;
  }

  text(name: string, maxLength?: number): string | undefined {
    const value = this.#values[name];
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw chatError(131009, `${this.pathOf(name)} must be a string`);
    if (maxLength !== undefined && value.length > maxLength)
      throw invalidParameter(`Param ${this.pathOf(name)} must be at most ${maxLength} characters long.`);
    return value;
  }

  requiredText(name: string, maxLength?: number): string {
    const value = this.text(name, maxLength);
    if (value === undefined || value === "") throw this.#missing(name);
    return value;
  }

  /** Checks a number, or the text of one. */
  coordinate(name: string, maxAbsolute: number): void {
    const value = this.#values[name];
    if (value === undefined) throw this.#missing(name);
    if (value === "" || !(Math.abs(numberOf(value)) <= maxAbsolute))
      throw chatError(
        131009,
        `${this.pathOf(name)} must be a number between -${maxAbsolute} and ${maxAbsolute}`,
      );
  }

  oneOf<Word extends string>(name: string, words: readonly Word[]): Word {
    const word = words.find((candidate) => candidate === this.requiredText(name));
    if (word === undefined)
      throw invalidParameter(`Param ${this.pathOf(name)} must be one of {${words.join(", ")}}`);
    return word;
  }

  /** Returns the index of a template button; the platform accepts it as text or number. */
  index(): number {
    const value = numberOf(this.#values.index);
    if (!Number.isInteger(value)) throw chatError(131009, `${this.pathOf("index")} must be an integer`);
    return value;
  }

  object(name: string): Part {
    if (!this.has(name)) throw this.#missing(name);
    return new Part(this.#values[name], this.pathOf(name));
  }

  /** Requires at least `minItems` items; one by default. */
  list(name: string, { minItems = 1, maxItems = Number.POSITIVE_INFINITY } = {}): Part[] {
    const value = this.#values[name];
    if (value === undefined && minItems > 0) throw this.#missing(name);
    const items = value ?? [];
    if (!Array.isArray(items)) throw chatError(131009, `${this.pathOf(name)} must be an array`);
    if (items.length < minItems || items.length > maxItems)
      throw chatError(131009, `${this.pathOf(name)} must have ${minItems} to ${maxItems} items`);
    return items.map((item, index) => new Part(item, `${this.pathOf(name)}[${index}]`));
  }

  #missing(name: string) {
    return chatError(131008, `The parameter ${this.pathOf(name)} is required.`);
  }
}

/** Ignores objects: `Number` would call a `valueOf` that the caller controls. */
const numberOf = (value: unknown): number =>
  typeof value === "number" || typeof value === "string" ? Number(value) : Number.NaN;
