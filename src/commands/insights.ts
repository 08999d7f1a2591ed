import { rmSync } from "node:fs";
import { type FileHandle, lstat, open, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type AdAccountAccess, openActiveAdAccount } from "../domain/ads/ad-account-access.ts";
import { formatInsightsCsv } from "../domain/ads/insights-csv.ts";
import { createReportExport, platformCodeOf, type ReportExport } from "../domain/ads/insights-export.ts";
import { isCompleted } from "../domain/ads/insights-reports.ts";
import { awaitConnection } from "../queue/redis.ts";
import { SECOND } from "../runtime/durations.ts";
import { DATE_PRESETS, DEFAULT_INSIGHTS_FIELDS } from "../schema/ad-enumerations.ts";
import { randomText } from "../security/secret-text.ts";
import {
  type Command,
  type CommandContext,
  CommandError,
  defineCommand,
  UsageError,
} from "./command-line/command.ts";
import { OPTION, optional, parseOneOf, required } from "./command-line/options.ts";
import { requireClient } from "./command-line/require-client.ts";

const REDIS_TIMEOUT_MS = 2 * SECOND;

export const INSIGHTS_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "insights export",
    summary: "Run an insights report on an ad account and write its rows to a CSV file",
    options: {
      client: required(OPTION.client),
      adAccount: required({
        placeholder: "ID",
        about: "the ad platform's id of an active account, such as act_1600000000000101",
        parse: parseMatching(/^act_\d{1,32}$/, "must be act_ and digits"),
      }),
      datePreset: required({
        placeholder: "PRESET",
        about: DATE_PRESETS.join(", "),
        parse: parseOneOf(DATE_PRESETS),
      }),
      timeIncrement: optional({
        placeholder: "PERIOD",
        about: "days per row (1 to 90), monthly or all_days (default: all_days)",
        parse: parseMatching(/^([1-9]|[1-8]\d|90|monthly|all_days)$/, "must be 1 to 90, monthly or all_days"),
      }),
      out: required({
        placeholder: "FILE",
        about: "file to write or replace, in an existing folder",
        parse: parseMatching(/[^/]$/, "must name a file"),
      }),
    },
    async run({ client, adAccount, datePreset, timeIncrement, out }, context): Promise<{ rows: number }> {
      await requireClient(context, client);
      const account = await requireAdAccount(context, client, adAccount);
      const file = await createOutputFile(out);
      const stopListening = context.onInterrupt(file.discard);
      try {
        await awaitConnection(context.redis, REDIS_TIMEOUT_MS); // other processes share their throttles there
        const report = createReportExport(context, account);
        const runId = await runReport(report, { datePreset, timeIncrement }, context);
        const rows = await writeRows(report.pages(runId), file, context);
        await file.complete();
        return { rows };
      } catch (error) {
        throw withPlatformCode(error);
      } finally {
        file.discard();
        stopListening();
      }
    },
  }),
];

function parseMatching(pattern: RegExp, problem: string): (text: string) => string {
  return (text) => {
    if (!pattern.test(text)) throw new UsageError(problem);
    return text;
  };
}

async function requireAdAccount(
  context: CommandContext,
  clientId: string,
  adAccountId: string,
): Promise<AdAccountAccess> {
  const opened = await openActiveAdAccount(context, { clientId }, adAccountId);
  switch (opened.outcome) {
    case "opened":
      return opened.account;
    case "not_found":
      throw new CommandError(`the client has no ad account ${adAccountId}`);
    case "revoked":
      throw new CommandError(
        `the platform no longer accepts the token of ${adAccountId}: the client must reconnect the account`,
      );
    case "not_active":
      throw new CommandError(`${adAccountId} is ${opened.status}: the client must activate it first`);
  }
}

type EndedRun = Awaited<ReturnType<ReportExport["run"]>>;

/** Shows the progress of the report and returns the id of the completed run. */
async function runReport(
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
async function writeRows(
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
function withPlatformCode(error: unknown): unknown {
  const code = platformCodeOf(error);
  if (code === undefined) return error;
  return new CommandError(`${(error as Error).message} (code ${code})`, { cause: error });
}

/** A file that appears under its name only when it is complete; until then its text is in a temporary file beside it. */
interface OutputFile {
  write(text: string): Promise<void>;
  /** Gives the file its name and replaces an older file. */
  complete(): Promise<void>;
  /** Removes the temporary file, if there is one. Synchronous, so that a signal handler can call it. */
  discard(): void;
}

/** Only the operator may read the file: it has a client's data. */
const FILE_MODE = 0o600;
const RANDOM_CHARACTERS = 12;

async function createOutputFile(path: string): Promise<OutputFile> {
  await requireReplaceable(path);
  const temporaryPath = join(dirname(path), `.${basename(path)}.${randomText(RANDOM_CHARACTERS)}.tmp`);
  const handle = await openNewFile(temporaryPath);
  return {
    write: (text) => handle.appendFile(text),
    async complete() {
      await handle.sync();
      await handle.close();
      await rename(temporaryPath, path);
    },
    discard() {
      handle.close().catch(() => {}); // it is already closed after complete
      rmSync(temporaryPath, { force: true });
    },
  };
}

/** Refuses folders, devices and links: renaming a file to their name would replace them. */
async function requireReplaceable(path: string): Promise<void> {
  const existing = await lstat(path).catch(() => undefined);
  if (existing && !existing.isFile()) throw new CommandError(`${path} exists and is not a regular file`);
}

async function openNewFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, "wx", FILE_MODE);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isMissing = code === "ENOENT" || code === "ENOTDIR";
    const problem = isMissing ? "does not exist" : `cannot be written to (${code})`;
    throw new CommandError(`the folder ${dirname(path)} ${problem}`, { cause: error });
  }
}
