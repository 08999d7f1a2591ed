import { formatInsightsCsv } from "../../domain/ads/insights-csv/insights-csv.ts";
import { platformCodeOf, type ReportExport } from "../../domain/ads/insights-export/report-export.ts";
import { isCompleted } from "../../domain/ads/insights-reports.ts";
import { DEFAULT_INSIGHTS_FIELDS } from "../../schema/ad-enumerations.ts";
import { type CommandContext, CommandError } from "../program/command.ts";
import type { OutputFile } from "./output-file.ts";

type EndedRun = Awaited<ReturnType<ReportExport["run"]>>;

/** Shows the progress of the report and returns the id of the completed run. */
export async function runReport(
  report: ReportExport,
  query: { datePreset: string; timeIncrement: string | undefined },
  context: CommandContext,
): Promise<string> {
  const bar = context.progress("report", 100);
  let shownPercent = 0;
  try {
    const run = await report.run(query, (percent) => {
      bar.advance(percent - shownPercent);
      shownPercent = percent;
    });
    if (isCompleted(run)) return run.report_run_id;
    throw new CommandError(failureText(run));
  } finally {
    bar.end();
  }
}

const failureText = ({ error_message = "no reason was given", error_code }: EndedRun): string =>
  `the platform failed the report: ${error_message}${error_code === undefined ? "" : ` (code ${error_code})`}`;

/** Writes the rows as CSV, shows their number and returns it. */
export async function writeRows(
  pages: ReturnType<ReportExport["pages"]>,
  file: OutputFile,
  context: CommandContext,
): Promise<number> {
  const bar = context.progress("rows");
  let rows = 0;
  async function* countedPages() {
    for await (const page of pages) {
      rows += page.length;
      bar.advance(page.length);
      yield page;
    }
  }
  try {
    const csv = await formatInsightsCsv(countedPages(), { fields: DEFAULT_INSIGHTS_FIELDS });
    for await (const text of csv) await file.write(text);
    return rows;
  } finally {
    bar.end();
  }
}

/** Adds the platform's code, by which its documentation explains a refusal. */
export function withPlatformCode(error: unknown): unknown {
  const code = platformCodeOf(error);
  if (code === undefined) return error;
  return new CommandError(`${(error as Error).message} (code ${code})`, { cause: error });
}
