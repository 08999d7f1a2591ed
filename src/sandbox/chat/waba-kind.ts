import { BUSINESS } from "../built-in-assets.ts";
import type { SandboxContext } from "../context.ts";
import type { NodeKind } from "../node-kind.ts";
import type { Call } from "../wire/call.ts";
import { checkFields, project } from "../wire/fields.ts";
import { toListPage } from "../wire/list-page.ts";
import { managementEdge } from "./edges.ts";
import { isWaba, wabaOf } from "./numbers.ts";
import { checkNumberFields, DEFAULT_NUMBER_FIELDS, toNumberNode } from "./phone-number-kind.ts";
import { subscribedApps } from "./subscribed-apps.ts";
import { createTemplate } from "./templates/create-template.ts";
import { deleteTemplates } from "./templates/delete-templates.ts";
import { listTemplates } from "./templates/list-templates.ts";

/** A business account of the chat platform. */
export const wabaKind = (context: SandboxContext): NodeKind => ({
  name: "waba",
  owns: isWaba,
  reaches: (grant, node) => grant.assets.includes(node),
  edges: {
    GET: managementEdge(showWaba),
    "GET phone_numbers": managementEdge((call) => listNumbers(context, call)),
    ...subscribedApps(context),
    "POST message_templates": managementEdge((call) => createTemplate(context, call)),
    "GET message_templates": managementEdge((call) => listTemplates(context, call)),
    "DELETE message_templates": managementEdge((call) => deleteTemplates(context, call)),
  },
});

const DEFAULT_FIELDS = ["id", "name", "timezone_id", "message_template_namespace"];

function showWaba({ node, params }: Call): unknown {
  const { id, name, message_template_namespace } = wabaOf(node);
  const wabaNode = {
    id,
    name,
    message_template_namespace,
    timezone_id: "25",
    currency: "BRL",
    account_review_status: "APPROVED",
    owner_business_info: BUSINESS,
  };
  checkFields(params.words("fields"), "WhatsAppBusinessAccount", Object.keys(wabaNode));
  return project(wabaNode, params.words("fields"), DEFAULT_FIELDS);
}

function listNumbers(context: SandboxContext, call: Call): unknown {
  const fields = call.params.words("fields");
  checkNumberFields(fields);
  return toListPage(call, wabaOf(call.node).numbers, (number) =>
    project(toNumberNode(context, number), fields, DEFAULT_NUMBER_FIELDS),
  );
}
