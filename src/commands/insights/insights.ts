import { type AdAccountAccess, openActiveAdAccount } from "../../domain/ads/ad-account-access.ts";
import { createReportExport } from "../../domain/ads/insights-export/report-export.ts";
import { awaitConnection } from "../../queue/redis.ts";
import { SECOND } from "../../runtime/durations.ts";
import { DATE_PRESETS } from "../../schema/ad-enumerations.ts";
import {
  type Command,
  type CommandContext,
  CommandError,
  defineCommand,
  UsageError,
} from "../program/command.ts";
import { requireClient } from "../program/operator.ts";
import { OPTION, optional, parseOneOf, required } from "../program/options.ts";
import { createOutputFile } from "./output-file.ts";
import { runReport, withPlatformCode, writeRows } from "./write-report.ts";

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
