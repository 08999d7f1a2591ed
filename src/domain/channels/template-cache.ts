import { SECOND } from "../../runtime/durations.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import { findStorableProblem } from "../../schema/storable.ts";
import {
  type TemplateRef,
  type TemplateTraits,
  type TemplateUpdate,
  updateTemplateTraits,
  upsertTemplates,
} from "../../store/channels/templates.ts";
import type { Queryable } from "../../store/database/database.ts";

/**
 * The platform tells the time in whole seconds, by a clock that may be slow. What it tells is therefore taken for newer than
 * what it answered up to so long before: the other way round a status would be missed for good.
 */
const CLOCK_LEEWAY_MS = 5 * SECOND;

/** As of when an answer to a question of that time holds. */
export const answerAsOf = (requestedAt: Date): Date => new Date(requestedAt.getTime() - CLOCK_LEEWAY_MS);

/** Of a template that is told of several times only the last is kept. */
export async function cacheTemplates(db: Queryable, updates: readonly TemplateUpdate[]): Promise<void> {
  const inOrder = updates.filter(isCacheable).toSorted((one, other) => +one.updated_at - +other.updated_at);
  const newest = new Map(inOrder.map((one) => [keyOf(one), one]));
  if (newest.size > 0) await upsertTemplates(db, [...newest.values()]);
}

/** Likewise, each trait by itself. */
export async function cacheTemplateTraits(db: Queryable, traits: readonly TemplateTraits[]): Promise<void> {
  const newest = new Map<string, TemplateTraits>();
  for (const one of traits.filter(isCacheable).toSorted((one, other) => +one.at - +other.at)) {
    const before = newest.get(keyOf(one));
    const category = one.category ?? before?.category ?? null;
    const quality_score = one.quality_score ?? before?.quality_score ?? null;
    newest.set(keyOf(one), { ...one, category, quality_score });
  }
  if (newest.size > 0) await updateTemplateTraits(db, [...newest.values()]);
}

const keyOf = ({ client_id, hsm_id }: TemplateRef) => `${client_id} ${hsm_id}`;

/** No name that the platform takes is longer; what is much longer has no room in the index. */
const MAX_FIELD_CHARACTERS = 512;

/** One template that the database would refuse must not cost the others anything. */
const isCacheable = (row: TemplateRef): boolean =>
  isPlatformId(row.hsm_id) &&
  findStorableProblem(row, "") === undefined &&
  Object.values(row).every((value) => typeof value !== "string" || value.length <= MAX_FIELD_CHARACTERS);
