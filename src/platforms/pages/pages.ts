import { asList, asObject, type Fields, formBody, omitNullish, textOf, textsOf } from "../bodies.ts";
import type { PlatformClient } from "../client/client.ts";
import { type CallIdentity, type PlatformSender, platformSender } from "../client/sender.ts";

/** A page; it also sends for the photo account linked to it. */
export interface PageAccess {
  pageId: string;
  /** The page's access token. */
  token: string;
  /** Ids that identify the call in the log. */
  about?: Fields;
}

export type PageUseCase = "messenger" | "instagram" | "pages";

export const pageIdentity = ({ pageId, token, about }: PageAccess, useCase: PageUseCase): CallIdentity => ({
  token,
  owner: "channel",
  quota: { asset: pageId, useCase },
  ...(about ? { about } : {}),
});

const pageSender = (client: PlatformClient, page: PageAccess, useCase: PageUseCase): PlatformSender =>
  platformSender(client, pageIdentity(page, useCase));

/** A page a person has authorised, with the page's token. */
export interface GrantedPage {
  page_id: string;
  name?: string;
  token: string;
  photoapp_user_id?: string;
  username?: string;
}

export interface Lead {
  lead_id: string;
  form_id?: string;
  ad_id?: string;
  created_time?: string;
  /** The person's input, by form field. */
  fields: { name: string; values: string[] }[];
}

export interface Pages {
  /** Lists the pages a person's token has access to. */
  listAll(userToken: string, about?: Fields): Promise<GrantedPage[]>;
  /** Subscribes the app's webhook to the events of the page and its photo account. */
  subscribe(page: PageAccess): Promise<void>;
  readLead(page: PageAccess, leadId: string): Promise<Lead>;
}

const PAGE_FIELDS = "id,name,access_token,tasks,instagram_business_account{id,username}";

const SUBSCRIBED_FIELDS = [
  "messages",
  "messaging_postbacks",
  "message_deliveries",
  "message_reads",
  "message_echoes",
  "message_reactions",
  "feed",
  "leadgen",
].join();

export function createPages(client: PlatformClient): Pages {
  return {
    async listAll(token, about = {}) {
      const fields = PAGE_FIELDS;
      const rows = await platformSender(client, { token, about }).allPages("/me/accounts", { fields });
      return rows.flatMap(toGrantedPage);
    },
    async subscribe(page) {
      const body = formBody({ subscribed_fields: SUBSCRIBED_FIELDS });
      await pageSender(client, page, "pages").change(`/${page.pageId}/subscribed_apps`, body);
    },
    async readLead(page, leadId) {
      const fields = "id,created_time,ad_id,form_id,field_data";
      return toLead(leadId, await pageSender(client, page, "pages").get(`/${leadId}`, { fields }));
    },
  };
}

/** Skips a page without a token, because it cannot be connected. */
function toGrantedPage(row: Readonly<Record<string, unknown>>): GrantedPage[] {
  const [pageId, token] = [textOf(row.id), textOf(row.access_token)];
  if (pageId === undefined || token === undefined) return [];
  const { id, username } = asObject(row.instagram_business_account);
  const rest = { name: textOf(row.name), photoapp_user_id: textOf(id), username: textOf(username) };
  return [{ page_id: pageId, token, ...omitNullish(rest) }];
}

function toLead(leadId: string, row: Record<string, unknown>): Lead {
  const rest = {
    form_id: textOf(row.form_id),
    ad_id: textOf(row.ad_id),
    created_time: textOf(row.created_time),
  };
  const answers = asList(row.field_data).map(asObject);
  const fields = answers.map(({ name, values }) => ({
    name: textOf(name) ?? "",
    values: textsOf(values),
  }));
  return { lead_id: leadId, ...omitNullish(rest), fields };
}
