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
 * The platform reports times in whole seconds, by a clock that may be slow. Its responses are dated back by
 * this much: a status webhook that seems older than a response would be lost for good.
 */
const CLOCK_LEEWAY_MS = 5 * SECOND;

/** The time as of which the response to a request holds. */
export const answerAsOf = (requestedAt: Date): Date => new Date(requestedAt.getTime() - CLOCK_LEEWAY_MS);

/** Stores only the newest update of each template. */
export async function cacheTemplates(db: Queryable, updates: readonly TemplateUpdate[]): Promise<void> {
  const inOrder = updates.filter(isCacheable).toSorted((one, other) => +one.updated_at - +other.updated_at);
  const newest = new Map(inOrder.map((one) => [keyOf(one), one]));
  if (newest.size > 0) await upsertTemplates(db, [...newest.values()]);
}

/** Stores only the newest value of each trait of a template. */
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

/** The platform accepts no longer names; much longer values do not fit into the index. */
const MAX_FIELD_CHARACTERS = 512;

/** True when Postgres can store the template: one that it rejects must not fail the others. */
const isCacheable = (row: TemplateRef): boolean =>
  isPlatformId(row.hsm_id) &&
  findStorableProblem(row, "") === undefined &&
  Object.values(row).every((value) => typeof value !== "string" || value.length <= MAX_FIELD_CHARACTERS);
