import { JsonText } from "../../runtime/json/json.ts";
import type { JsonSource } from "../../runtime/json/json-source.ts";
import { asObject, isListOfObjects, textOf } from "../client/json-values.ts";
import type { Reader, UpdateContent } from "./reading.ts";
import { firstErrorOf, toStatusData } from "./statuses.ts";
import { parseTimestamp } from "./timestamps.ts";

/** Reads a message status. `errors` and `pricing` are forwarded as raw JSON because their content is arbitrary. */
export const readStatus: Reader = (value, { time, source }): UpdateContent | "unknown" => {
  const fields = asObject(value);
  const [id, word] = [textOf(fields.id), textOf(fields.status)];
  if (id === undefined || word === undefined) return "unknown";
  const data = toStatusData({
    platformMessageId: id,
    word,
    recipient: textOf(fields.recipient_id) ?? textOf(fields.recipient_user_id),
    errors: isListOfObjects(fields.errors) ? rawField(source, "errors") : undefined,
    pricing: fields.pricing === null ? undefined : rawField(source, "pricing"),
  });
  const status = {
    platformMessageId: id,
    word,
    callback: textOf(fields.biz_opaque_callback_data),
    error: firstErrorOf(fields.errors),
  };
  const at = parseTimestamp(fields.timestamp) ?? time;
  return { type: "message.status", data, at, dedupKey: `status ${id} ${word}`, status };
};

function rawField(source: JsonSource, name: string): JsonText | undefined {
  const field = source.field(name);
  return field && new JsonText(field.text);
}
