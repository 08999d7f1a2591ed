import type { Paging } from "../../../sdk/src/generated/types.ts";

/** A page of any list of the API. */
export interface ListReply<Row> {
  data: Row[];
  paging: Paging;
}

interface Changes {
  /** Rows above the shown ones. */
  newCount: number;
  /** True when rows have come or gone between the shown ones. */
  hasChanged: boolean;
}

/** The shown rows in their places, each as the server has it now. */
export function withChanges<Row>(
  shown: ListReply<Row>,
  fresh: ListReply<Row>,
  idOf: (row: Row) => string,
): ListReply<Row> {
  const changed = new Map(fresh.data.map((row) => [idOf(row), row]));
  return { ...shown, data: shown.data.map((row) => changed.get(idOf(row)) ?? row) };
}

/** Compares the shown rows with those that the server has now, newest first. */
export function changesBetween<Row>(
  shown: ListReply<Row> | undefined,
  fresh: ListReply<Row> | undefined,
  idOf: (row: Row) => string,
): Changes {
  if (!shown || !fresh || shown === fresh) return { newCount: 0, hasChanged: false };
  const shownIds = shown.data.map(idOf);
  const freshIds = fresh.data.map(idOf);
  const [isShown, isFresh] = [new Set(shownIds), new Set(freshIds)];
  const firstCommon = freshIds.findIndex((id) => isShown.has(id));
  const lastCommon = freshIds.findLastIndex((id) => isShown.has(id));
  const newCount = firstCommon < 0 ? freshIds.length : firstCommon;
  const hasCome = freshIds.slice(newCount, lastCommon).some((id) => !isShown.has(id));
  // New rows move old ones to the next page: rows after the last common one are gone only if there is no next page.
  const compared = fresh.paging.has_more
    ? shownIds.slice(0, shownIds.findLastIndex((id) => isFresh.has(id)) + 1)
    : shownIds;
  return { newCount, hasChanged: hasCome || compared.some((id) => !isFresh.has(id)) };
}
