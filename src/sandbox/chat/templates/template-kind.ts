import type { SandboxContext } from "../../context.ts";
import type { NodeKind } from "../../node-kind.ts";
import type { Call } from "../../wire/call.ts";
import { invalidParameter } from "../../wire/graph-error.ts";
import { managementEdge } from "../edges.ts";
import { readCategory, readComponents } from "./create-template.ts";
import { checkTemplateFields, toTemplateNode } from "./list-templates.ts";
import { scheduleReview } from "./review.ts";
import { type Template, templateById } from "./template.ts";

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
