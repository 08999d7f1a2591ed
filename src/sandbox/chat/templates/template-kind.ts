import type { Ground } from "../../context.ts";
import type { NodeKind } from "../../node-kind.ts";
import type { Call } from "../../wire/call.ts";
import { invalidParameter } from "../../wire/graph-error.ts";
import { managing } from "../scopes.ts";
import { readCategory, readComponents } from "./create-template.ts";
import { checkTemplateFields, templateView } from "./list-templates.ts";
import { review } from "./review.ts";
import { type Template, templateById } from "./template.ts";

/** One template by its id. */
export function templateKind(ground: Ground): NodeKind {
  const find = (id: string) => templateById(ground, id) as Template;
  return {
    name: "template",
    owns: (node) => templateById(ground, node) !== undefined,
    reaches: (grant, node) => grant.assets.includes(find(node).waba),
    asset: (node) => find(node).waba,
    edges: {
      GET: managing((call) => {
        checkTemplateFields(call);
        return templateView(find(call.node), call);
      }),
      POST: managing((call) => edit(ground, find(call.node), call)),
    },
  };
}

/** What was approved before has to be approved again. */
function edit(ground: Ground, template: Template, { params }: Call): unknown {
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
  const frame = { category, format: template.parameter_format };
  const components = params.has("components") ? readComponents(params, frame) : template.components;
  Object.assign(template, { category, components, status: "PENDING", changed: Date.now() });
  review(ground, template);
  return { success: true };
}
