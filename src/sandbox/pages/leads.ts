import { LEADS, type Lead } from "../built-in-assets.ts";
import { newNodeId, perSandbox, type SandboxContext } from "../context.ts";
import { checkFields, project } from "../graph/fields-and-lists.ts";
import type { NodeKind } from "../graph/node.ts";

const leadsOf = perSandbox(() => new Map(LEADS.map((lead) => [lead.id, lead])));

/** Adds a lead to the page; missing fields are copied from the built-in lead. */
export function addLead(context: SandboxContext, page: string, given: Partial<Lead>): Lead {
  const lead = { ...(LEADS[0] as Lead), id: newNodeId(), created: nowSeconds(), ...given, page_id: page };
  leadsOf(context).set(lead.id, lead);
  return lead;
}

const nowSeconds = () => Math.floor(Date.now() / 1000);

const FIELDS = ["id", "created_time", "ad_id", "form_id", "field_data", "is_organic", "platform"];

/** A person's answers to a lead form. */
export function leadKind(context: SandboxContext): NodeKind {
  const find = (id: string) => leadsOf(context).get(id);
  return {
    name: "lead",
    owns: (node) => find(node) !== undefined,
    reaches: ({ assets }, node) => assets.includes(find(node)?.page_id ?? ""),
    asset: (node) => find(node)?.page_id,
    edges: {
      GET: {
        scopes: ["leads_retrieval"],
        usage: "pages",
        answer({ node, params }) {
          const fields = params.words("fields");
          checkFields(fields, "UserLeadGenInfo", FIELDS);
          return project(toLeadNode(find(node) as Lead), fields, ["created_time", "id", "field_data"]);
        },
      },
    },
  };
}

const toLeadNode = ({ id, form_id, ad_id, created, field_data }: Lead) => ({
  id,
  created_time: new Date(created * 1000).toISOString().replace(".000Z", "+0000"),
  ad_id,
  form_id,
  field_data,
  is_organic: false,
  platform: "fb",
});
