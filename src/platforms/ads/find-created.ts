import { SECOND } from "../../runtime/durations.ts";
import type { Fields } from "../client/body.ts";
import { collect, MAX_SEARCHED_PAGES, SEARCH_PAGE_SIZE } from "../client/collect.ts";
import { textOf } from "../client/json-values.ts";
import type { PlatformSender } from "../client/sender.ts";
import type { AdAccess } from "./access.ts";
import { type AdObject, type AdObjectKind, OBJECT_KINDS, type UnansweredCreate } from "./object-kinds.ts";

export type FoundOutcome =
  | { outcome: "found"; object: AdObject }
  /** The create had no effect. */
  | { outcome: "none" }
  | { outcome: "undecided" };

/** Looks for the object that an unanswered create may have made: the oldest one that it matches. */
export async function findCreated(
  sender: PlatformSender,
  kind: AdObjectKind,
  { access, created }: { access: AdAccess; created: UnansweredCreate },
): Promise<FoundOutcome> {
  if (created.fields.name === undefined) return { outcome: "undecided" };
  const { fields, recognize, normalize } = OBJECT_KINDS[kind];
  const query = { fields: fields.join(), ...searchFilter(kind, created) };
  const readPage = (after: string | undefined) =>
    sender.page(`/${access.account}/${kind}`, query, { limit: SEARCH_PAGE_SIZE, after });
  const { found, next } = await collect(readPage, {
    from: { after: undefined, skip: 0 },
    limit: Number.POSITIVE_INFINITY,
    maxPages: MAX_SEARCHED_PAGES,
    matches: (row) => recognize(row, created) !== "different",
  });
  const same = found.filter((row) => recognize(row, created) === "same");
  const [oldest] = same.reverse().sort(byCreationTime); // the platform lists the newest first
  const id = textOf(oldest?.id);
  if (oldest && id !== undefined) return { outcome: "found", object: { ...normalize(oldest), id } };
  return found.length === 0 && next === undefined ? { outcome: "none" } : { outcome: "undecided" };
}

/** The creatives edge has no such filter. */
const searchFilter = (kind: AdObjectKind, { fields, since }: UnansweredCreate): Fields =>
  kind === "adcreatives"
    ? {}
    : {
        filtering: [
          { field: "name", operator: "EQUAL", value: fields.name },
          {
            field: "created_time",
            operator: "GREATER_THAN",
            value: Math.floor(since.getTime() / SECOND) - 1,
          },
        ],
      };

const byCreationTime = (one: Fields, other: Fields) =>
  Date.parse(String(one.created_time)) - Date.parse(String(other.created_time)) || 0;
