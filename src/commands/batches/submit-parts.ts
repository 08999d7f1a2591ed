import { createHash } from "node:crypto";
import { stringifyJson } from "../../runtime/json/json.ts";
import { type AcceptedBatchDto, MAX_BATCH_MESSAGES } from "../../schema/batches.ts";
import { ApiRefusal, callUntilAnswered } from "../command-line/api-client.ts";
import { type ApiAccess, CommandError } from "../command-line/command.ts";
import type { InvalidRow, RecipientFile, RecipientRow } from "./recipient-file.ts";

/** The fields that all batches of a file have. */
export interface BatchFields {
  channel_id: string;
  template: { name: string; language: { code: string } };
  name: string;
  send_at?: string;
  rate_per_second?: number;
}

/** A part of the file, which is sent as one batch. */
interface Part {
  /** From 1 on. */
  number: number;
  rows: readonly RecipientRow[];
}

/** A batch that was accepted by this run or an earlier one. */
export interface SubmittedPart {
  batch_id: string;
  accepted: number;
  rejected: readonly InvalidRow[];
  /** True when an earlier run has sent this part. */
  isRepeat: boolean;
}

interface Submission {
  access: ApiAccess;
  file: RecipientFile;
  fields: BatchFields;
  /** Called after each part. */
  onPart(part: SubmittedPart, position: { number: number; parts: number }): void;
  /** Called before the API is asked again after a wait. */
  onWait(line: string): void;
}

/**
 * Sends the rows as batches, one after the other. The Idempotency-Key of each depends on the file and on the place of the part,
 * so that a second run sends only what the first one has not.
 */
export async function submitParts(submission: Submission): Promise<SubmittedPart[]> {
  const { access, file, fields, onPart, onWait } = submission;
  const parts = splitRows(file.rows);
  const submitted: SubmittedPart[] = [];
  for (const part of parts) {
    const { body, headers } = await callUntilAnswered(access, "/api/outbound/batches", {
      method: "POST",
      headers: { "idempotency-key": keyOf(submission, part) },
      body: { ...fields, type: "template", messages: part.rows.map(({ entry }) => entry) },
      onWait,
    }).catch((error: unknown) => {
      throw partError(error, part, parts.length);
    });
    const { batch_id, accepted, rejected } = body as AcceptedBatchDto;
    const isRepeat = headers.get("idempotent-replay") === "true";
    const result = { batch_id, accepted, rejected: rejected.map(toInvalidRow(part)), isRepeat };
    submitted.push(result);
    onPart(result, { number: part.number, parts: parts.length });
  }
  return submitted;
}

/** The API takes 4 MiB; the rest is for the fields of the batch. */
const MAX_PART_BYTES = 3_500_000;

function splitRows(rows: readonly RecipientRow[]): Part[] {
  const parts: { number: number; rows: RecipientRow[]; bytes: number }[] = [];
  for (const row of rows) {
    const bytes = Buffer.byteLength(stringifyJson(row.entry)) + 1;
    const last = parts.at(-1);
    if (last && last.rows.length < MAX_BATCH_MESSAGES && last.bytes + bytes <= MAX_PART_BYTES) {
      last.rows.push(row);
      last.bytes += bytes;
    } else parts.push({ number: parts.length + 1, rows: [row], bytes });
  }
  return parts;
}

/**
 * Without the time and the rate: if they are changed in a second run, the API refuses the part instead of sending it twice. With
 * the name, so that the same file can be sent again under another one.
 */
function keyOf({ file: { sha256 }, fields: { channel_id, template, name } }: Submission, { number }: Part) {
  const identity = stringifyJson([sha256, channel_id, template.name, template.language.code, name]);
  return `${createHash("sha256").update(identity).digest("hex")}-${number}`;
}

const toInvalidRow =
  ({ rows }: Part) =>
  ({ index, message }: { index: number; message: string }): InvalidRow => ({
    line: rows[index]?.line as number,
    message,
  });

const REUSED_ADVICE =
  "This file was sent within the last day with another --send-at or --rate: repeat the command with those, or choose another --name to send all of it again";

const REPEAT_ADVICE = "Within a day, the same command continues with this part and sends nothing twice";

function partError(error: unknown, part: Part, parts: number): unknown {
  if (!(error instanceof CommandError)) return error;
  const [first, last] = [part.rows[0], part.rows.at(-1)];
  const lines = [
    `part ${part.number} of ${parts} (lines ${first?.line} to ${last?.line}) failed: ${error.message}`,
    ...(error instanceof ApiRefusal ? error.details.map((detail) => toLine(part, detail)) : []),
    error instanceof ApiRefusal && error.code === "idempotency_key_reused" ? REUSED_ADVICE : REPEAT_ADVICE,
  ];
  return new CommandError(lines.join("\n"));
}

/** Names the line of the file instead of the place in the request. */
function toLine({ rows }: Part, { path, message }: { path: string; message: string }): string {
  const [, index] = /^\/messages\/(\d+)/.exec(path) ?? [];
  const row = index === undefined ? undefined : rows[Number(index)];
  return row ? `line ${row.line}: ${message}` : `${path}: ${message}`;
}
