import { formatInsightsCsv, type InsightsSelection } from "../../../domain/ads/insights-csv.ts";
import { invalidField, overloaded } from "../../../http/api-error.ts";
import { createHeavyRequests } from "../../../http/heavy-requests.ts";
import { CsvReply } from "../../../http/route.ts";
import {
  eachPageOfItems,
  type ListPageRequest,
  type PlatformListPage,
} from "../../../platforms/client/list-pages.ts";
import { MAX_ROWS_PER_PAGE } from "./schema.ts";

/** The documentation's example of insights as CSV. */
export const CSV_EXAMPLE = {
  example:
    "impressions,spend,actions.link_click,date_start,date_stop,other_actions\r\n1200,12.34,30,2026-09-01,2026-09-30,\r\n",
};

const PAGING_PARAMETERS = ["limit", "after", "before"] as const;

export const isPagingParameter = (name: string): boolean =>
  PAGING_PARAMETERS.some((paging) => paging === name);

/** A CSV file has all rows: 400 for a request that selects a page. */
export function requireNoPaging(query: { [N in (typeof PAGING_PARAMETERS)[number]]?: unknown }): void {
  for (const name of PAGING_PARAMETERS)
    if (query[name] !== undefined)
      throw invalidField(`/${name}`, `${name} cannot be combined with CSV, which has all rows`);
}

interface CsvExport {
  caller: { clientId: string };
  callerGone(): AbortSignal;
  readPage(page: ListPageRequest): Promise<PlatformListPage>;
  selection: InsightsSelection;
}

/** Streams all rows. Throws when the first ones cannot be read, so that the reply can still be an error. */
export type CsvExporter = (csvExport: CsvExport) => Promise<CsvReply>;

/** A client exports one file at a time. An export ends, with the page that it reads, when the caller disconnects. */
export function createCsvExporter(): CsvExporter {
  const exports = createHeavyRequests("CSV export");
  return async ({ caller, callerGone, readPage, selection }) => {
    const grant = exports.begin(caller.clientId);
    const signal = callerGone();
    const pages = eachPageOfItems((after) => readPage({ limit: MAX_ROWS_PER_PAGE, after, signal }));
    try {
      const reply = new CsvReply(await formatInsightsCsv(pages, selection));
      reply.body.once("close", () => grant.release());
      return reply;
    } catch (error) {
      grant.release();
      throw signal.aborted ? overloaded() : error; // an abort by the caller is no fault to log
    }
  };
}
