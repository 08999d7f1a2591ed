import { isUtf8 } from "node:buffer";
import { ApiError, invalidField } from "../runtime/errors.ts";

/** Deeper than any body of ours; past it, code that walks the value could exhaust the stack. */
const DEEPEST = 100;

/** The object in a JSON body, whatever its Content-Type says. An empty body is `{}`. */
export function parseJsonBody(bytes: Buffer): Record<string, unknown> {
  if (bytes.length === 0) return {};
  const value = parse(bytes);
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new ApiError("validation_failed", "The body must be a JSON object");
  return value as Record<string, unknown>;
}

function parse(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ApiError("validation_failed", "The body is not valid UTF-8");
  try {
    return JSON.parse(bytes.toString("utf8").replace(/^\ufeff/, ""));
  } catch (cause) {
    // The parser's own message quotes the body, in which a secret may stand.
    throw new ApiError("validation_failed", "The body is not valid JSON", { cause });
  }
}

/** Refuses texts that Postgres cannot keep (U+0000, half a surrogate pair), wherever they stand in the value. */
export function assertStorable(value: unknown, path: string, depth = 0): void {
  if (typeof value === "string") assertStorableText(value, path);
  if (typeof value !== "object" || value === null) return;
  if (depth >= DEEPEST)
    throw new ApiError("validation_failed", `The body is nested deeper than ${DEEPEST} levels`);
  for (const [key, item] of Object.entries(value)) {
    assertStorableText(key, path);
    assertStorable(item, `${path}/${key}`, depth + 1);
  }
}

function assertStorableText(text: string, path: string): void {
  if (text.includes("\u0000")) throw invalidField(path, `${nameOf(path)} contains the character U+0000`);
  if (!isWellFormed(text)) throw invalidField(path, `${nameOf(path)} is not well-formed Unicode`);
}

const nameOf = (path: string) => (path === "" ? "The body" : path.slice(1).replaceAll("/", "."));

/** Node 20 has it, the ECMAScript 2023 types do not; the later ones promise what Node 20 has not. */
const isWellFormed = (text: string) => (text as string & { isWellFormed(): boolean }).isWellFormed();
