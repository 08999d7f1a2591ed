import { PAGES, type Page } from "../built-in-assets.ts";
import type { Ground } from "../context.ts";
import type { Edge } from "../node-kind.ts";
import { checkFields, project } from "../wire/fields.ts";
import { pageOf } from "../wire/pages.ts";
import { endOfPageToken, toSeconds } from "./lifetimes.ts";
import type { Grant } from "./tokens.ts";

const FIELDS = ["id", "name", "access_token", "tasks", "instagram_business_account"];
const TASKS = ["ADVERTISE", "ANALYZE", "CREATE_CONTENT", "MESSAGING", "MODERATE", "MANAGE"];

/** The pages that were chosen, two at a time, each with a token of its own. */
export const myPages = (ground: Ground): Edge => ({
  scopes: ["pages_show_list"],
  answer(call) {
    const { grant, params } = call;
    const fields = params.words("fields");
    checkFields(fields, "Page", FIELDS);
    const show = (page: Page) => project(shown(ground, page, grant), fields, FIELDS.slice(0, 4));
    return pageOf(call, PAGES, show, { visible: ({ id }) => grant.assets.includes(id), most: 2 });
  },
});

function shown(ground: Ground, page: Page, grant: Grant): Record<string, unknown> {
  const { id, name, instagram } = page;
  const mayKnowPhotos = instagram && grant.scopes.includes("instagram_basic");
  return {
    id,
    name,
    tasks: TASKS,
    access_token: tokenOf(ground, page, grant),
    ...(mayKnowPhotos ? { instagram_business_account: instagram } : {}),
  };
}

const tokenOf = ({ tokens, now }: Ground, { id, instagram }: Page, grant: Grant): string =>
  tokens.issue({
    ...grant,
    kind: "page",
    assets: instagram ? [id, instagram.id] : [id],
    issued: toSeconds(now()),
    expires: endOfPageToken(grant),
  });
