import { ReportFailedError } from "./errors.ts";
import { InsightsOperations } from "./generated/operations.ts";
import type {
  CreateInsightsReportDto,
  GetInsightsReportResultsPage,
  InsightsReportRunDto,
  InsightsRow,
} from "./generated/types.ts";
import { List } from "./list.ts";
import { poll, type WaitOptions } from "./poll.ts";
import { sleep } from "./timers.ts";

const DEFAULT_WAIT_MS = 15 * 60_000;
const FIRST_READ_MS = 1_000;
/** The API reads the state of a report from the ad platform at most every 5 s. */
const FIRST_INTERVAL_MS = 5_000;
const MAX_INTERVAL_MS = 15_000;

/** Delivery metrics: queries, reports that the ad platform computes in the background, and summaries. */
export class Insights extends InsightsOperations {
  /** A report that is created when it is first read: `for await (const row of herald.insights.report(...).rows())`. */
  report(body: CreateInsightsReportDto, options: WaitOptions = {}): Report {
    return new Report(this, body, options);
  }
}

/** A report that the ad platform computes in the background. It is created once, however often it is read. */
export class Report {
  readonly #insights: InsightsOperations;
  readonly #body: CreateInsightsReportDto;
  readonly #options: WaitOptions;
  #created: Promise<InsightsReportRunDto> | undefined;
  #completed: Promise<InsightsReportRunDto> | undefined;

  constructor(insights: InsightsOperations, body: CreateInsightsReportDto, options: WaitOptions) {
    this.#insights = insights;
    this.#body = body;
    this.#options = options;
  }

  /**
   * Creates the report and waits until it is complete, by default for 15 minutes. Rejects with a ReportFailedError when
   * the ad platform gives up, and with a WaitTimeoutError when the time is over.
   */
  run(): Promise<InsightsReportRunDto> {
    // A failed request or wait can be tried again; the report that it created is kept.
    this.#completed ??= this.#complete().catch((error) => {
      this.#completed = undefined;
      throw error;
    });
    return this.#completed;
  }

  /** The rows of the report, once it is complete. */
  rows(): List<InsightsRow, GetInsightsReportResultsPage> {
    return new List(async (cursor) => {
      const { report_run_id } = await this.run();
      return this.#insights
        .reportRows(report_run_id, { ...this.#account(), ...cursor }, this.#request())
        .page();
    }, false);
  }

  /** The rows as CSV, once the report is complete. */
  async csv(): Promise<string> {
    const { report_run_id } = await this.run();
    return this.#insights.reportRowsCsv(report_run_id, this.#account(), this.#request());
  }

  async #complete(): Promise<InsightsReportRunDto> {
    const { timeoutMs = DEFAULT_WAIT_MS, signal } = this.#options;
    this.#created ??= this.#insights.createReport(this.#body, this.#request()).catch((error) => {
      this.#created = undefined;
      throw error;
    });
    const { report_run_id } = await this.#created;
    await sleep(FIRST_READ_MS, signal);
    return poll({
      what: `completion of report ${report_run_id}`,
      read: (signal) => this.#insights.getReport(report_run_id, this.#account(), { signal }),
      isDone(run) {
        if (run.async_status === "Job Failed") throw new ReportFailedError(run);
        return run.async_status === "Job Completed";
      },
      timeoutMs,
      firstIntervalMs: FIRST_INTERVAL_MS,
      maxIntervalMs: MAX_INTERVAL_MS,
      signal,
    });
  }

  readonly #account = () => ({ ad_account_id: this.#body.ad_account_id });
  readonly #request = () => ({ signal: this.#options.signal });
}
