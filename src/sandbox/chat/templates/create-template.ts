import { newNodeId, type SandboxContext } from "../../context.ts";
import type { Call } from "../../wire/call.ts";
import { invalidParameter } from "../../wire/graph-error.ts";
import type { Params } from "../../wire/params.ts";
import { reviewResultOf } from "../magic-values.ts";
import { checkComponents } from "./component-rules.ts";
import { scheduleReview, sendStatusUpdate } from "./review.ts";
import {
  CATEGORIES,
  type Component,
  isNameBlocked,
  PARAMETER_FORMATS,
  storeTemplate,
  type Template,
  templateError,
  templatesOf,
} from "./template.ts";

const MAX_NAME_LENGTH = 512;
const MAX_TEMPLATES = 250;
const LANGUAGE_PATTERN = /^[a-z]{2,3}(_[A-Z]{2,4})?$/;

export function createTemplate(context: SandboxContext, { node, params }: Call): unknown {
  const template = readTemplate(node, params);
  checkAvailability(context, template);
  storeTemplate(context, template);
  const reviewResult = reviewResultOf(template.name);
  if (reviewResult === "instant") {
    template.status = "APPROVED";
    sendStatusUpdate(context, template);
  } else scheduleReview(context, template);
  const category = reviewResult === "recategorised" ? "MARKETING" : template.category;
  return { id: template.id, status: template.status, category };
}

function readTemplate(waba: string, params: Params): Template {
  const name = readName(params);
  const language = params.requiredText("language");
  if (!LANGUAGE_PATTERN.test(language))
    throw invalidParameter("Param language must be a supported language code");
  const category = readCategory(params);
  params.flag("allow_category_change");
  const parameter_format = readOneOf(params, "parameter_format", PARAMETER_FORMATS) ?? "POSITIONAL";
  const ttl = params.integer("message_send_ttl_seconds");
  return {
    id: newNodeId(),
    waba,
    name,
    language,
    category,
    parameter_format,
    components: readComponents(params, { category, format: parameter_format }),
    status: "PENDING",
    rejected_reason: "NONE",
    quality_score: { score: "UNKNOWN" },
    ...(ttl === undefined ? {} : { message_send_ttl_seconds: ttl }),
    changed: Date.now(),
  };
}

function readName(params: Params): string {
  const name = params.requiredText("name");
  if (name.length > MAX_NAME_LENGTH)
    throw templateError(
      2388040,
      "Character limit exceeded",
      `The name is limited to ${MAX_NAME_LENGTH} characters.`,
    );
  if (!/^[a-z0-9_]+$/.test(name))
    throw invalidParameter("Param name must have only lowercase letters, digits and underscores", {
      userTitle: "Template name is invalid",
      userMessage: "Message template name can only have lowercase letters, digits and underscores",
    });
  return name;
}

export function readCategory(params: Params): Template["category"] {
  params.requiredText("category");
  return readOneOf(params, "category", CATEGORIES) as Template["category"];
}

export function readComponents(params: Params, traits: Parameters<typeof checkComponents>[1]): Component[] {
  const given = params.list("components") ?? [];
  if (!given.every((item) => typeof item === "object" && item !== null))
    throw invalidParameter("Param components must be an array of JSON objects");
  const components = given as Component[];
  checkComponents(components, traits);
  return components;
}

function readOneOf<Word extends string>(
  params: Params,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const given = params.text(name)?.toUpperCase();
  const word = words.find((candidate) => candidate === given);
  if (given !== undefined && word === undefined)
    throw invalidParameter(`Param ${name} must be one of {${words.join(", ")}}`);
  return word;
}

/** Throws when the account is full or the name is taken in this language. */
function checkAvailability(context: SandboxContext, template: Template): void {
  const { waba, name, language } = template;
  if (isNameBlocked(context, template))
    throw templateError(
      2388023,
      "Message template language is being deleted",
      `New ${language} content for this message template can't be added while the existing ${language} content is being deleted. Try again in 4 weeks or consider creating a new message template.`,
    );
  const others = templatesOf(context, waba);
  if (others.some((other) => other.name === name && other.language === language))
    throw templateError(
      2388024,
      "Content in this language already exists",
      `There is already ${language} content for this template. You can create a new template and try again.`,
    );
  if (others.length >= MAX_TEMPLATES)
    throw templateError(
      2388019,
      "Limit of message templates reached",
      `This account can have at most ${MAX_TEMPLATES} message templates.`,
    );
}
