import type { Ground } from "../../context.ts";
import type { Call } from "../../wire/call.ts";
import { checkFields, project } from "../../wire/fields.ts";
import { toJson } from "../../wire/json.ts";
import { pageOf } from "../../wire/pages.ts";
import { type Template, templatesOf } from "./template.ts";

const MOST_PER_PAGE = 250;

const has = (text: string, part: string) => text.toLowerCase().includes(part.toLowerCase());
const contentOf = ({ components }: Template) => toJson(components.map(({ text }) => text ?? ""));

/** What may be asked for. A name is searched for, not compared: `order` finds `order_update` too. */
const FILTERS: Readonly<Record<string, (template: Template, wanted: string) => boolean>> = {
  name: ({ name }, wanted) => has(name, wanted),
  content: (template, wanted) => has(contentOf(template), wanted),
  name_or_content: (template, wanted) => has(template.name, wanted) || has(contentOf(template), wanted),
  language: ({ language }, wanted) => language === wanted,
  category: ({ category }, wanted) => category === wanted.toUpperCase(),
  status: ({ status }, wanted) => status === wanted.toUpperCase(),
  quality_score: ({ quality_score }, wanted) => quality_score.score === wanted.toUpperCase(),
  since: ({ changed }, wanted) => changed >= Number(wanted) * 1000,
  until: ({ changed }, wanted) => changed <= Number(wanted) * 1000,
};

export function listTemplates(ground: Ground, call: Call): unknown {
  const { params, node } = call;
  for (const time of ["since", "until"]) params.integer(time); // text that is no number is refused
  const asked = Object.entries(FILTERS).flatMap(([name, passes]) => {
    const wanted = params.text(name);
    return wanted === undefined ? [] : [(template: Template) => passes(template, wanted)];
  });
  const found = templatesOf(ground, node).filter((template) => asked.every((passes) => passes(template)));
  checkTemplateFields(call);
  return pageOf(call, found, (template) => templateView(template, call), { most: MOST_PER_PAGE });
}

const DEFAULTS = ["name", "parameter_format", "components", "language", "status", "category", "id"];
const KNOWN = [...DEFAULTS, "quality_score", "rejected_reason", "message_send_ttl_seconds"];

export const checkTemplateFields = ({ params }: Call): void =>
  checkFields(params.words("fields"), "MessageTemplate", KNOWN);

export function templateView(template: Template, { params }: Call): unknown {
  const { waba: _waba, changed: _changed, ...view } = template;
  return project(view, params.words("fields"), DEFAULTS);
}
