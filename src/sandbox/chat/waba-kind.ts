import { BUSINESS } from "../built-in-assets.ts";
import type { Ground } from "../context.ts";
import type { NodeKind } from "../node-kind.ts";
import type { Call } from "../wire/call.ts";
import { checkFields, project } from "../wire/fields.ts";
import { pageOf } from "../wire/pages.ts";
import { isWaba, wabaOf } from "./numbers.ts";
import { checkNumberFields, NUMBER_DEFAULTS, numberView } from "./phone-number-kind.ts";
import { managing } from "./scopes.ts";
import { subscribedApps } from "./subscribed-apps.ts";
import { createTemplate } from "./templates/create-template.ts";
import { deleteTemplates } from "./templates/delete-templates.ts";
import { listTemplates } from "./templates/list-templates.ts";

/** A business account of the chat platform. */
export const wabaKind = (ground: Ground): NodeKind => ({
  name: "waba",
  owns: isWaba,
  reaches: (grant, node) => grant.assets.includes(node),
  edges: {
    GET: managing(read),
    "GET phone_numbers": managing((call) => listNumbers(ground, call)),
    ...subscribedApps(ground),
    "POST message_templates": managing((call) => createTemplate(ground, call)),
    "GET message_templates": managing((call) => listTemplates(ground, call)),
    "DELETE message_templates": managing((call) => deleteTemplates(ground, call)),
  },
});

const DEFAULTS = ["id", "name", "timezone_id", "message_template_namespace"];

function read({ node, params }: Call): unknown {
  const { id, name, message_template_namespace } = wabaOf(node);
  const view = {
    id,
    name,
    message_template_namespace,
    timezone_id: "25",
    currency: "BRL",
    account_review_status: "APPROVED",
    owner_business_info: BUSINESS,
  };
  checkFields(params.words("fields"), "WhatsAppBusinessAccount", Object.keys(view));
  return project(view, params.words("fields"), DEFAULTS);
}

function listNumbers(ground: Ground, call: Call): unknown {
  const fields = call.params.words("fields");
  checkNumberFields(fields);
  return pageOf(call, wabaOf(call.node).numbers, (number) =>
    project(numberView(ground, number), fields, NUMBER_DEFAULTS),
  );
}
