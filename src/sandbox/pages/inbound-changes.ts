import type { Lead } from "../built-in-assets.ts";
import { newNodeId, type SandboxContext } from "../context.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import { toBigInt } from "../wire/json.ts";
import type { Account } from "./accounts.ts";
import { addLead } from "./leads.ts";

interface ChangeInput {
  context: SandboxContext;
  account: Account;
  from: string;
  given: Record<string, unknown>;
}

interface Change {
  field: string;
  value: object;
}

type Changes = Readonly<Record<string, (input: ChangeInput) => Change>>;

const LEAD_FIELDS = ["form_id", "ad_id", "field_data"];

/** Inbound events outside conversations. Given content overrides fields of the change's value. */
export const CHANGES: Readonly<Record<Account["platform"], Changes>> = {
  messenger: { comment: feedComment, leadgen },
  instagram: { comment: photoComment },
};

function feedComment({ account, from, given }: ChangeInput): Change {
  const postId = `${account.id}_${newNodeId()}`;
  const value = {
    item: "comment",
    verb: "add",
    comment_id: `${postId.split("_")[1]}_${newNodeId()}`,
    post_id: postId,
    parent_id: postId,
    from: { id: from, name: "Sandbox Person" },
    message: "How much is it?",
    created_time: Math.floor(Date.now() / 1000),
    ...given,
  };
  return { field: "feed", value };
}

function photoComment({ from, given }: ChangeInput): Change {
  const value = {
    id: newNodeId(),
    text: "How much is it?",
    from: { id: from, username: "sandbox.person" },
    media: { id: newNodeId(), media_product_type: "FEED" },
    ...given,
  };
  return { field: "comments", value };
}

/** Writes ids as bare numbers, like the platform does only here. The answers must be fetched separately. */
function leadgen({ context, account, given }: ChangeInput): Change {
  const lead = addLead(context, account.id, readLeadFields(given));
  const value = {
    leadgen_id: toBigInt(lead.id),
    page_id: toBigInt(lead.page_id),
    form_id: toBigInt(lead.form_id),
    adgroup_id: toBigInt(lead.ad_id),
    ad_id: toBigInt(lead.ad_id),
    created_time: lead.created,
  };
  return { field: "leadgen", value };
}

/** Reads `{ form_id, ad_id, field_data }`; each is optional. */
function readLeadFields(given: ChangeInput["given"]): Partial<Lead> {
  const fields = Object.entries(given).filter(([name]) => LEAD_FIELDS.includes(name));
  for (const [name, value] of fields)
    if (
      name === "field_data" ? !Array.isArray(value) : !(typeof value === "string" && /^\d{1,32}$/.test(value))
    )
      throw invalidParameter(
        `content[${name}] is invalid: field_data must be an array, ids must be strings of digits`,
      );
  return Object.fromEntries(fields);
}
