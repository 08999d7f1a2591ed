import type { SandboxContext } from "../../context.ts";
import type { Call } from "../../wire/call.ts";
import { checkFields, project } from "../../wire/fields.ts";
import { toJson } from "../../wire/json.ts";
import { toListPage } from "../../wire/list-page.ts";
import { type Template, templatesOf } from "./template.ts";

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

export const checkTemplateFields = ({ params }: Call): void =>
  checkFields(params.words("fields"), "MessageTemplate", KNOWN_FIELDS);

export function toTemplateNode(template: Template, { params }: Call): unknown {
  const { waba: _waba, changed: _changed, ...node } = template;
  return project(node, params.words("fields"), DEFAULT_FIELDS);
}
