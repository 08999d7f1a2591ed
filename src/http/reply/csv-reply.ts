import { Readable } from "node:stream";
import { preferredType } from "../request/accept.ts";

export const CSV_TYPE = "text/csv; charset=utf-8; header=present";

/** True when an Accept header prefers CSV to JSON. */
export const prefersCsv = (accept: string | undefined): boolean =>
  preferredType(accept, ["text/csv", "application/json"]) === "text/csv";

/** CSV text that is streamed instead of the JSON reply, on a route with `csv`. */
export class CsvReply {
  readonly type = CSV_TYPE;
  readonly body: Readable;

  constructor(text: AsyncIterable<string>) {
    this.body = Readable.from(text);
  }
}
