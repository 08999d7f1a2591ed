import type { TemplateStatus } from "../../schema/enumerations.ts";
import { asObject, type Fields, jsonBody, omitNullish, textOf } from "../bodies.ts";
import { type Outcome, type PlatformCall, type Refusal, toFailure } from "../client/call.ts";
import type { PlatformClient } from "../client/client.ts";
import type { ListPageRequest, PlatformListPage } from "../client/list-pages.ts";
import { businessIdentity, businessSender, type ChatBusiness } from "./numbers.ts";

/** The platform's acceptance or refusal with its HTTP status. Without a response, a PlatformFailure is thrown. */
export type TemplateAnswer = { outcome: "accepted"; status: number; body: Record<string, unknown> } | Refusal;

export interface TemplateFilter {
  name?: string | undefined;
  status?: string | undefined;
  category?: string | undefined;
  language?: string | undefined;
}

export interface Templates {
  create(business: ChatBusiness, template: Fields): Promise<TemplateAnswer>;
  /** Deletes all languages of the name, or only the one with `hsmId`. */
  remove(
    business: ChatBusiness,
    template: { name: string; hsmId?: string | undefined },
  ): Promise<TemplateAnswer>;
  list(business: ChatBusiness, filter: TemplateFilter, page: ListPageRequest): Promise<PlatformListPage>;
  listAll(business: ChatBusiness, filter?: TemplateFilter): Promise<Fields[]>;
}

const FIELDS = "id,name,status,category,language,components,quality_score,rejected_reason";

export function createTemplates(client: PlatformClient): Templates {
  const edge = ({ wabaId }: ChatBusiness) => `/${wabaId}/message_templates`;
  const query = (filter: TemplateFilter) => ({ fields: FIELDS, ...filter });
  const attempt = async (
    business: ChatBusiness,
    call: Pick<PlatformCall, "effect" | "method" | "query" | "body">,
  ) =>
    toTemplateAnswer(
      await client.call({ ...call, ...businessIdentity(business), path: edge(business) }),
      call.effect,
    );
  return {
    create: (business, template) =>
      attempt(business, { effect: "create", method: "POST", body: jsonBody(template) }),
    remove: (business, { name, hsmId }) =>
      attempt(business, { effect: "change", method: "DELETE", query: { name, hsm_id: hsmId } }),
    async list(business, filter, page) {
      const found = await businessSender(client, business).page(edge(business), query(filter), page);
      return { ...found, items: found.items.map(withTextId) };
    },
    async listAll(business, filter = {}) {
      const rows = await businessSender(client, business).allPages(edge(business), query(filter));
      return rows.map(withTextId);
    },
  };
}

/** Returns an error the platform sent as its answer; every other failure throws. */
function toTemplateAnswer(outcome: Outcome, effect: PlatformCall["effect"]): TemplateAnswer {
  if (outcome.outcome === "done")
    return { outcome: "accepted", status: outcome.status, body: withTextId(asObject(outcome.body)) };
  if (outcome.outcome === "refused") return outcome;
  throw toFailure(outcome, { effect, owner: "channel" });
}

/** Converts the id to text: some responses have a number. */
const withTextId = (row: Fields): Record<string, unknown> => omitNullish({ ...row, id: textOf(row.id) });

/** Statuses in the platform's lists and webhooks. The platform may add others. */
export const PLATFORM_TEMPLATE_STATUSES = [
  "APPROVED",
  "ARCHIVED",
  "DELETED",
  "DISABLED",
  "FLAGGED",
  "IN_APPEAL",
  "LIMIT_EXCEEDED",
  "LOCKED",
  "PAUSED",
  "PENDING",
  "PENDING_DELETION",
  "REINSTATED",
  "REJECTED",
  "UNARCHIVED",
] as const;

/**
 * Maps to Herald's three statuses; only templates that can be sent are APPROVED. Undefined when the
 * platform's status does not change Herald's.
 */
export function toTemplateStatus(platformStatus: string): TemplateStatus | undefined {
  switch (platformStatus) {
    case "PENDING":
    case "IN_APPEAL":
      return "PENDING";
    case "APPROVED":
    case "REINSTATED":
      return "APPROVED";
    case "FLAGGED":
    case "UNARCHIVED":
      return undefined;
    default:
      return "REJECTED";
  }
}
