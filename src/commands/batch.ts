import { basename } from "node:path";
import { type BatchDto, batchName } from "../schema/batches.ts";
import { BATCH_STATUSES } from "../schema/enumerations.ts";
import { type InvalidRow, type RecipientFile, readRecipientFile } from "./batches/recipient-file.ts";
import { type BatchFields, type SubmittedPart, submitParts } from "./batches/submit-parts.ts";
import { totalOf, waitForBatches, waitingOf } from "./batches/wait-for-batches.ts";
import { callApi } from "./command-line/api-client.ts";
import {
  type BaseContext,
  type Command,
  CommandError,
  defineClientCommand,
  UsageError,
} from "./command-line/command.ts";
import {
  DEFAULT_LISTED_ROWS,
  flag,
  OPTION,
  optional,
  parseOneOf,
  positional,
  required,
} from "./command-line/options.ts";
import { toText } from "./command-line/output.ts";

const DEFAULT_LANGUAGE = "en_US";
const [MAX_PAGE_ROWS, MAX_SHOWN_ROWS] = [100, 20];

const SEND_COMMAND = defineClientCommand({
  name: "batch send",
  summary: "Send a template to the recipients in a CSV file, in batches of 1,000",
  options: {
    file: required({
      placeholder: "FILE",
      about:
        "CSV file whose first line names the columns: to, optionally external_ref, and the variables of the template's body, in their order or named body.1, body.2 or body.NAME",
      parse: String,
    }),
    channel: required({ ...OPTION.channel, about: "the channel that sends" }),
    template: required({ placeholder: "NAME", about: "name of the template", parse: String }),
    language: optional({
      placeholder: "CODE",
      about: `language of the template (default: ${DEFAULT_LANGUAGE})`,
      parse: String,
    }),
    sendAt: optional({ ...OPTION.time, about: `when to start, ${OPTION.time.about} (default: now)` }),
    rate: optional({
      placeholder: "NUMBER",
      about: "messages per second and batch at most, up to the rate of the channel",
      parse: parseRate,
    }),
    name: optional({ ...OPTION.batchName, about: "name of the batches (default: the file's name)" }),
    yes: flag("send the valid rows without asking when there are invalid ones"),
    wait: flag("wait until nothing is still to be sent"),
  },
  run: (values, context) => sendFile(values, context),
  show: ({ data, name, accepted, invalid }) =>
    [
      toText({ data: data.map(toCells) }),
      `accepted as ${name}: ${accepted}; rows that were not sent: ${invalid.length}`,
    ].join("\n"),
});

const changeCommand = (verb: "pause" | "resume" | "cancel", summary: string): Command =>
  defineClientCommand({
    name: `batch ${verb}`,
    summary,
    options: { id: positional(OPTION.batch) },
    run: ({ id }, context) => callBatch(context, `${id}/${verb}`, { method: "POST" }),
    show: showBatch,
  });

/** They act for one client, which may pause or cancel its batches without access to the database of the service. */
export const BATCH_COMMANDS: readonly Command[] = [
  SEND_COMMAND,
  defineClientCommand({
    name: "batch list",
    summary: "List the client's batches and the counts of their messages, newest first",
    options: {
      channel: optional({ ...OPTION.channel, about: "only batches of this channel" }),
      status: optional({
        placeholder: "STATUS",
        about: `${BATCH_STATUSES.join(", ")} (default: all)`,
        parse: parseOneOf(BATCH_STATUSES),
      }),
      limit: optional(OPTION.limit),
    },
    run: async ({ limit = DEFAULT_LISTED_ROWS, ...filters }, context) => ({
      data: await listBatches(context, filters, limit),
    }),
    show: ({ data }) => toText({ data: data.map(toCells) }),
  }),
  defineClientCommand({
    name: "batch show",
    summary: "Show a batch and the counts of its messages",
    options: { id: positional(OPTION.batch) },
    run: ({ id }, context) => callBatch(context, id),
    show: showBatch,
  }),
  changeCommand("pause", "Pause a batch: nothing more of it is sent until it is resumed"),
  changeCommand("resume", "Resume a paused batch"),
  changeCommand(
    "cancel",
    "Cancel a batch: its messages that are not being sent at this moment are never sent",
  ),
];

const callBatch = async (
  context: BaseContext,
  path: string,
  request?: Parameters<typeof callApi>[2],
): Promise<BatchDto> =>
  (await callApi(context.apiAccess(), `/api/outbound/batches/${path}`, request)) as BatchDto;

interface BatchFilters {
  channel: string | undefined;
  status: string | undefined;
}

interface BatchPage {
  data: BatchDto[];
  paging: { cursors: { after: string | null }; has_more: boolean };
}

async function listBatches(
  context: BaseContext,
  { channel, status }: BatchFilters,
  limit: number,
): Promise<BatchDto[]> {
  const batches: BatchDto[] = [];
  const query = new URLSearchParams({
    ...(channel === undefined ? {} : { channel_id: channel }),
    ...(status === undefined ? {} : { status }),
  });
  for (;;) {
    query.set("limit", String(Math.min(MAX_PAGE_ROWS, limit - batches.length)));
    const path = `/api/outbound/batches?${query}`;
    const { data, paging } = (await callApi(context.apiAccess(), path)) as BatchPage;
    batches.push(...data);
    if (!paging.has_more) return batches;
    if (batches.length >= limit) {
      context.say(`There are more than ${limit}: add filters or raise --limit`);
      return batches;
    }
    query.set("after", String(paging.cursors.after));
  }
}

/** The columns of a list. */
function toCells(batch: BatchDto | SubmittedBatch): Record<string, unknown> {
  if (!("counts" in batch)) return { ...batch };
  const { batch_id, name, status, pause_reason, counts, created_at } = batch;
  return {
    batch_id,
    name,
    status: pause_reason === null ? status : `${status} (${pause_reason})`,
    messages: totalOf(batch),
    waiting: waitingOf(batch),
    failed: counts.failed,
    created_at,
  };
}

function showBatch({ counts, ...fields }: BatchDto): string {
  const shown = Object.entries(counts).filter(([, count]) => count > 0);
  return toText({ ...fields, counts: shown.map(([status, count]) => `${status} ${count}`).join(", ") });
}

interface SendValues {
  file: string;
  channel: string;
  template: string;
  language: string | undefined;
  sendAt: string | undefined;
  rate: number | undefined;
  name: string | undefined;
  yes: boolean | undefined;
  wait: boolean | undefined;
}

/** A batch as it was submitted, when its end is not waited for. */
type SubmittedBatch = Pick<SubmittedPart, "batch_id" | "accepted">;

interface SentFile {
  name: string;
  accepted: number;
  /** Rows that were not sent, by this command or by the API. */
  invalid: readonly InvalidRow[];
  data: readonly (BatchDto | SubmittedBatch)[];
}

async function sendFile(values: SendValues, context: BaseContext): Promise<SentFile> {
  const access = context.apiAccess();
  const file = await readRecipientFile(values.file);
  sayRows(context, file.invalid);
  if (file.rows.length === 0) throw new CommandError(`${values.file} has no valid rows: nothing was sent`);
  if (file.invalid.length > 0) await confirmValidRows(values, file, context);
  const fields = fieldsOf(values);
  const report = createPartReport(context, file.rows.length);
  const parts = await submitParts({ access, file, fields, ...report }).finally(report.end);
  const rejected = parts.flatMap((part) => part.rejected);
  sayRows(context, rejected);
  const ids = parts.map(({ batch_id }) => batch_id);
  return {
    name: fields.name,
    accepted: parts.reduce((sum, part) => sum + part.accepted, 0),
    invalid: [...file.invalid, ...rejected],
    data: values.wait
      ? await waitForBatches({ access, ids, context })
      : parts.map(({ batch_id, accepted }) => ({ batch_id, accepted })),
  };
}

function fieldsOf({ file, channel, template, language, sendAt, rate, name }: SendValues): BatchFields {
  return {
    channel_id: channel,
    template: { name: template, language: { code: language ?? DEFAULT_LANGUAGE } },
    name: name ?? basename(file).slice(0, batchName.maxLength),
    ...(sendAt === undefined ? {} : { send_at: sendAt }),
    ...(rate === undefined ? {} : { rate_per_second: rate }),
  };
}

/** Prints the first rows; the result has all of them. */
function sayRows({ say }: BaseContext, rows: readonly InvalidRow[]): void {
  for (const { line, message } of rows.slice(0, MAX_SHOWN_ROWS)) say(`line ${line}: ${message}`);
  if (rows.length > MAX_SHOWN_ROWS) say(`and ${rows.length - MAX_SHOWN_ROWS} more`);
}

async function confirmValidRows(
  { file, yes }: SendValues,
  { rows, invalid }: RecipientFile,
  context: BaseContext,
): Promise<void> {
  const summary = `${file} has ${invalid.length} invalid and ${rows.length} valid rows`;
  if (yes) return context.say(`${summary}; the valid ones are sent`);
  if (!context.isInteractive)
    throw new CommandError(`${summary}; nothing was sent: correct the file, or send the others with --yes`);
  context.say(`${summary}. Send the valid ones? Type yes to confirm:`);
  const answer = await context.readLine();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("nothing was sent");
}

/** Draws a bar on a terminal, and otherwise prints a line for each part. */
function createPartReport({ say, progress, isInteractive }: BaseContext, rows: number) {
  const bar = isInteractive ? progress("accepted", rows) : undefined;
  return {
    onPart(part: SubmittedPart, { number, parts }: { number: number; parts: number }) {
      const { batch_id, accepted, rejected, isRepeat } = part;
      bar?.advance(accepted + rejected.length);
      if (!bar)
        say(`part ${number} of ${parts}: ${batch_id}${isRepeat ? ", accepted by an earlier run" : ""}`);
    },
    onWait(line: string) {
      bar?.end();
      say(line);
      bar?.advance(0);
    },
    end: () => bar?.end(),
  };
}

function parseRate(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new UsageError("must be a number from 1 on");
  return Number(text);
}
