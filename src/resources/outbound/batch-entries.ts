import { ApiError } from "../../http/api-error.ts";
import { collectInSlices } from "../../runtime/async/time-slices.ts";
import { newId } from "../../runtime/ids.ts";
import { stringifyJson } from "../../runtime/json/json.ts";
import type { AcceptedBatchDto } from "../../schema/batches.ts";
import { MESSAGE_TYPES, type MessageType, type Platform } from "../../schema/enumerations.ts";
import { findStorableProblem } from "../../schema/storable.ts";
import { type Check, createValidator } from "../../schema/validate.ts";
import type { NewBatchMessage } from "../../store/batches/accept-batch.ts";
import { MAX_CONTENT_BYTES } from "./acceptance.ts";
import { type BatchEntry, entrySchema, type SendBatchDto } from "./batch-schema.ts";
import type { PlatformRules } from "./platform-rules.ts";

/** The messages of a batch: those to accept, and why the others are rejected. */
export interface CheckedEntries {
  messages: NewBatchMessage[];
  rejected: AcceptedBatchDto["rejected"];
}

type Rejection = Omit<AcceptedBatchDto["rejected"][number], "index">;

const SUBJECT = "the message";

const invalid = (message: string): Rejection => ({ error: "validation_failed", message });

/** Returns a function that checks each message of a batch on its own; the common content has been checked before. */
export function createEntryCheck(rules: PlatformRules) {
  const validator = createValidator();
  const checks = Object.fromEntries(
    MESSAGE_TYPES.map((type) => [type, validator.json(entrySchema(type), SUBJECT)]),
  ) as Record<MessageType, Check>;

  function checkEntry(value: unknown, batch: Batch): Rejection | NewBatchMessage {
    const problem = findStorableProblem(value, SUBJECT) ?? checks[batch.body.type](value, true)[0];
    if (problem) return { error: problem.code ?? "validation_failed", message: problem.message };
    const { to, external_ref = null, ...own } = value as BatchEntry;
    if (batch.body.type === "text" && own.body === undefined && batch.body.text?.body === undefined)
      return invalid("body is required, because the text of the batch has none");
    const content = Object.keys(own).length === 0 ? null : stringifyJson(own);
    if (content !== null && batch.contentBytes + Buffer.byteLength(content) > MAX_CONTENT_BYTES)
      return invalid(`The content must have at most ${MAX_CONTENT_BYTES} bytes`);
    try {
      if (own.body !== undefined)
        rules.checkContent(batch.platform, { type: "text", text: { body: own.body } });
      const recipient_kind = rules.checkRecipient(batch.platform, to);
      return { id: newId("msg"), recipient: to, recipient_kind, content, external_ref };
    } catch (error) {
      if (error instanceof ApiError) return { error: error.code, message: error.message };
      throw error;
    }
  }

  return async (batch: Batch): Promise<CheckedEntries> => {
    const checked = await collectInSlices(checkAll(batch));
    return {
      messages: checked.flatMap((result) => ("id" in result ? result : [])),
      rejected: checked.flatMap((result, index) => ("id" in result ? [] : { index, ...result })),
    };
  };

  function* checkAll(batch: Batch) {
    for (const value of batch.body.messages) yield checkEntry(value, batch);
  }
}

/** A batch whose own fields have been checked. */
export interface Batch {
  platform: Platform;
  body: SendBatchDto;
  /** Size of the common content as JSON. */
  contentBytes: number;
}
