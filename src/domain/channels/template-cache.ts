import { SECOND } from "../../runtime/durations.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import { storableProblem } from "../../schema/storable.ts";
import {
  changeTemplateTraits,
  keepTemplates,
  type TemplateNews,
  type TemplateRef,
  type TemplateTraits,
} from "../../store/channels/templates.ts";
import type { Queryable } from "../../store/database/database.ts";

/**
 * The platform tells the time in whole seconds, by a clock that may be slow. What it tells is therefore taken for newer than
 * what it answered up to so long before: the other way round a status would be missed for good.
 */
const LEEWAY = 5 * SECOND;

/** As of when an answer to a question of that time holds. */
export const asOfAnswer = (asked: Date): Date => new Date(asked.getTime() - LEEWAY);

/** Of a template that is told of several times only the last is kept. */
export async function rememberTemplates(db: Queryable, news: readonly TemplateNews[]): Promise<void> {
  const inOrder = news.filter(isKeepable).toSorted((one, other) => +one.updated_at - +other.updated_at);
  const newest = new Map(inOrder.map((one) => [nameOf(one), one]));
  if (newest.size > 0) await keepTemplates(db, [...newest.values()]);
}

/** Likewise, each trait by itself. */
export async function rememberTraits(db: Queryable, traits: readonly TemplateTraits[]): Promise<void> {
  const newest = new Map<string, TemplateTraits>();
  for (const one of traits.filter(isKeepable).toSorted((one, other) => +one.at - +other.at)) {
    const before = newest.get(nameOf(one));
    const category = one.category ?? before?.category ?? null;
    const quality_score = one.quality_score ?? before?.quality_score ?? null;
    newest.set(nameOf(one), { ...one, category, quality_score });
  }
  if (newest.size > 0) await changeTemplateTraits(db, [...newest.values()]);
}

const nameOf = ({ client_id, hsm_id }: TemplateRef) => `${client_id} ${hsm_id}`;

/** No name that the platform takes is longer; what is much longer has no room in the index. */
const LONGEST = 512;

/** One template that the database would refuse must not cost the others anything. */
const isKeepable = (row: TemplateRef): boolean =>
  isPlatformId(row.hsm_id) &&
  storableProblem(row, "") === undefined &&
  Object.values(row).every((value) => typeof value !== "string" || value.length <= LONGEST);
