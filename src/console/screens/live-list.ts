import { useRef, useState } from "preact/hooks";
import { call } from "../app/api.ts";
import { type Loaded, useLoaded } from "../app/loading.ts";
import { query } from "../app/router.ts";
import { changesBetween, type ListReply, withChanges } from "./list-changes.ts";

/** A list that keeps its rows in place: new ones are counted until the person wants to see them. */
export interface LiveList<Row> {
  loaded: Loaded<ListReply<Row>>;
  /** False for pages to which no new row belongs: older ones, and those of a period that has ended. */
  isOpenEnded: boolean;
  /** Rows above the shown ones. */
  newCount: number;
  /** True when rows have come or gone between the shown ones. */
  hasChanged: boolean;
  /** Asks the server again: rows change in place, new ones are counted. Returns false when it has failed. */
  refresh(): Promise<boolean>;
  showNew(): void;
}

interface ListOptions<Row> {
  path: string;
  /** The filters of the list; other parameters of the address are ignored. */
  filters: readonly string[];
  idOf(row: Row): string;
}

export const PAGE_ROWS = 50;

/** The pages of a list for one key: the shown one, and the one that the server had last. */
interface Pages<Row> {
  key: string;
  loaded: ListReply<Row> | undefined;
  shown: ListReply<Row>;
  fresh: ListReply<Row> | undefined;
}

/** The list at an API path, with the filters and the cursor of the address. */
export function useLiveList<Row>({ path, filters, idOf }: ListOptions<Row>): LiveList<Row> {
  const given = [...filters, "after", "before"].map((name) => [name, query.value[name]]);
  const parameters = Object.fromEntries(given) as Record<string, string | undefined>;
  const key = JSON.stringify(parameters);
  const read = (signal?: AbortSignal) =>
    call<ListReply<Row>>("GET", path, { query: { ...parameters, limit: PAGE_ROWS }, signal });
  const loaded = useLoaded(key, read);
  const [stored, setStored] = useState<Pages<Row>>();
  const refreshes = useRef({ started: 0, latestKey: key });
  refreshes.current.latestKey = key;

  // Pages of another key, or from before a new load, count no more.
  const isKept = stored !== undefined && stored.key === key && stored.loaded === loaded.value;
  const shown = isKept ? stored.shown : loaded.value;
  const fresh = isKept ? stored.fresh : undefined;

  async function refresh(): Promise<boolean> {
    if (loaded.isStale) return true;
    if (loaded.problem) return loaded.reload();
    if (loaded.value === undefined || !shown) return true;
    refreshes.current.started += 1;
    const { started } = refreshes.current;
    const page = await read().catch(() => undefined);
    if (!page) return false;
    // A newer refresh, or another list, has overtaken this one.
    if (refreshes.current.started !== started || refreshes.current.latestKey !== key) return true;
    setStored((former) => {
      const present = former && former.key === key && former.loaded === loaded.value ? former.shown : shown;
      const next = present.data.length > 0 ? withChanges(present, page, idOf) : page;
      return { key, loaded: loaded.value, shown: next, fresh: page };
    });
    return true;
  }

  return {
    loaded: { ...loaded, value: shown },
    isOpenEnded: isOpenEnded(parameters),
    ...changesBetween(shown, fresh, idOf),
    refresh,
    showNew: () => fresh && setStored({ key, loaded: loaded.value, shown: fresh, fresh }),
  };
}

const isOpenEnded = ({ after, before, until }: Record<string, string | undefined>): boolean =>
  after === undefined && before === undefined && (until === undefined || Date.parse(until) > Date.now());
