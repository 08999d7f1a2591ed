import { newNodeId, type SandboxContext } from "../../context.ts";
import { checkFields, project, toListPage } from "../../graph/fields-and-lists.ts";
import { invalidParameter } from "../../graph/graph-error.ts";
import { toJson } from "../../graph/json.ts";
import type { Call, NodeKind } from "../../graph/node.ts";
import type { Params } from "../../graph/params.ts";
import { reviewResultOf } from "../../magic-values.ts";
import { managementEdge } from "../numbers.ts";
import { checkComponents } from "./component-rules.ts";
import {
  CATEGORIES,
  type Component,
  isNameBlocked,
  PARAMETER_FORMATS,
  removeTemplate,
  storeTemplate,
  type Template,
  templateById,
  templateError,
  templatesOf,
} from "./template.ts";
import { scheduleReview, sendStatusUpdate } from "./template-review.ts";

const MAX_NAME_LENGTH = 512;
const MAX_TEMPLATES = 250;
const LANGUAGE_PATTERN = /^[a-z]{2,3}(_[A-Z]{2,4})?$/;

/** Stores a new template and submits it for review. */
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

function readCategory(params: Params): Template["category"] {
  params.requiredText("category");
  return readOneOf(params, "category", CATEGORIES) as Template["category"];
}

function readComponents(params: Params, traits: Parameters<typeof checkComponents>[1]): Component[] {
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

/** A template by its id. */
export function templateKind(context: SandboxContext): NodeKind {
  const find = (id: string) => templateById(context, id) as Template;
  return {
    name: "template",
    owns: (node) => templateById(context, node) !== undefined,
    reaches: (grant, node) => grant.assets.includes(find(node).waba),
    asset: (node) => find(node).waba,
    edges: {
      GET: managementEdge((call) => {
        checkTemplateFields(call);
        return toTemplateNode(find(call.node), call);
      }),
      POST: managementEdge((call) => editTemplate(context, find(call.node), call)),
    },
  };
}

/** Updates a template and submits it for review again. */
function editTemplate(context: SandboxContext, template: Template, { params }: Call): unknown {
  if (template.status === "PENDING")
    throw invalidParameter("A template in review can't be edited", {
      userTitle: "Template can't be edited",
      userMessage: "Only templates that are approved, rejected or paused can be edited.",
    });
  const category = params.has("category") ? readCategory(params) : template.category;
  if (template.status === "APPROVED" && category !== template.category)
    throw invalidParameter("The category of an approved template can't be edited", {
      userTitle: "Category can't be edited",
      userMessage: "The category of an approved template can't be edited.",
    });
  const traits = { category, format: template.parameter_format };
  const components = params.has("components") ? readComponents(params, traits) : template.components;
  Object.assign(template, { category, components, status: "PENDING", changed: Date.now() });
  scheduleReview(context, template);
  return { success: true };
}

const MAX_TEMPLATES_PER_PAGE = 250;

const includesIgnoringCase = (text: string, part: string) => text.toLowerCase().includes(part.toLowerCase());
const contentOf = ({ components }: Template) => toJson(components.map(({ text }) => text ?? ""));

/** Filters by parameter. A name matches as a substring: `order` also finds `order_update`. */
const FILTERS: Readonly<Record<string, (template: Template, expected: string) => boolean>> = {
  name: ({ name }, expected) => includesIgnoringCase(name, expected),
  content: (template, expected) => includesIgnoringCase(contentOf(template), expected),
  name_or_content: (template, expected) =>
    includesIgnoringCase(template.name, expected) || includesIgnoringCase(contentOf(template), expected),
  language: ({ language }, expected) => language === expected,
  category: ({ category }, expected) => category === expected.toUpperCase(),
  status: ({ status }, expected) => status === expected.toUpperCase(),
  quality_score: ({ quality_score }, expected) => quality_score.score === expected.toUpperCase(),
  since: ({ changed }, expected) => changed >= Number(expected) * 1000,
  until: ({ changed }, expected) => changed <= Number(expected) * 1000,
};

export function listTemplates(context: SandboxContext, call: Call): unknown {
  const { params, node } = call;
  for (const time of ["since", "until"]) params.integer(time); // throws for text that is not a number
  const filters = Object.entries(FILTERS).flatMap(([name, passes]) => {
    const expected = params.text(name);
    return expected === undefined ? [] : [(template: Template) => passes(template, expected)];
  });
  const found = templatesOf(context, node).filter((template) => filters.every((passes) => passes(template)));
  checkTemplateFields(call);
  return toListPage(call, found, (template) => toTemplateNode(template, call), {
    maxLimit: MAX_TEMPLATES_PER_PAGE,
  });
}

const DEFAULT_FIELDS = ["name", "parameter_format", "components", "language", "status", "category", "id"];
const KNOWN_FIELDS = [...DEFAULT_FIELDS, "quality_score", "rejected_reason", "message_send_ttl_seconds"];

const checkTemplateFields = ({ params }: Call): void =>
  checkFields(params.words("fields"), "MessageTemplate", KNOWN_FIELDS);

function toTemplateNode(template: Template, { params }: Call): unknown {
  const { waba: _waba, changed: _changed, ...node } = template;
  return project(node, params.words("fields"), DEFAULT_FIELDS);
}

/** Deletes all translations of a name, or only those with the given ids. */
export function deleteTemplates(context: SandboxContext, { node, params }: Call): unknown {
  const name = params.requiredText("name");
  const ids = [params.text("hsm_id"), ...(params.words("hsm_ids") ?? [])].filter((id) => id !== undefined);
  const chosen = templatesOf(context, node)
    .filter((template) => template.name === name)
    .filter(({ id }) => ids.length === 0 || ids.includes(id));
  if (chosen.length === 0 || chosen.length < new Set(ids).size) throw unknownTemplate(name);
  for (const template of chosen) removeTemplate(context, template);
  return { success: true };
}

const unknownTemplate = (name: Template["name"]) =>
  templateError(
    2593002,
    "Message template not found",
    `The template "${name}" does not exist or has been deleted.`,
  );
