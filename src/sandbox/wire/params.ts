import { GraphError, invalidParameter } from "./graph-error.ts";
import { fromJson } from "./json.ts";
import { plainText } from "./plain-text.ts";

/** A file of a multipart body. */
export interface Upload {
  filename: string;
  type: string;
  bytes: Buffer;
}

/**
 * The parameters of a call, from its query and body. Values from a query or form are text, with lists,
 * objects and booleans as JSON in it; values from a JSON body keep their types.
 */
export class Params {
  readonly #values: ReadonlyMap<string, unknown>;
  readonly #files: ReadonlyMap<string, Upload>;

  constructor(values: ReadonlyMap<string, unknown>, files: ReadonlyMap<string, Upload> = new Map()) {
    this.#values = values;
    this.#files = files;
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  names(): string[] {
    return [...this.#values.keys()];
  }

  file(name: string): Upload | undefined {
    return this.#files.get(name);
  }

  /** Returns the first file, regardless of its field name. */
  anyFile(): Upload | undefined {
    return this.#files.values().next().value;
  }

  /** Returns a string or a number as text. */
  text(name: string): string | undefined {
    const value = this.#values.get(name);
    if (value === undefined || value === null) return undefined;
    if (typeof value === "string") return value;
    if (typeof value === "number" || typeof value === "bigint") return String(value);
    throw invalidParameter(`Param ${name} must be a string`);
  }

  requiredText(name: string): string {
    const value = this.text(name);
    if (value === undefined || value === "") throw invalidParameter(`The parameter ${name} is required.`);
    return value;
  }

  integer(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (!/^-?\d{1,15}$/.test(value)) throw invalidParameter(`Param ${name} must be an integer`);
    return Number(value);
  }

  /** Accepts `true` and `false`; rejects `1`, `yes` and strings in a JSON body. */
  flag(name: string): boolean | undefined {
    const value = this.#decoded(name);
    if (value === undefined || typeof value === "boolean") return value;
    throw invalidParameter(`Param ${name} must be a boolean`);
  }

  object(name: string): Record<string, unknown> | undefined {
    const value = this.#decoded(name);
    if (value === undefined) return undefined;
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
    throw invalidParameter(`Param ${name} must be a JSON object`);
  }

  list(name: string): unknown[] | undefined {
    const value = this.#decoded(name);
    if (value === undefined || Array.isArray(value)) return value;
    throw invalidParameter(`Param ${name} must be an array.`);
  }

  texts(name: string): string[] | undefined {
    const values = this.list(name);
    if (values?.some((value) => typeof value !== "string"))
      throw invalidParameter(`Param ${name} must be an array of strings`);
    return values as string[] | undefined;
  }

  /** Reads a comma-separated list such as `fields`, or a JSON array. */
  words(name: string): string[] | undefined {
    const value = this.#values.get(name);
    if (value === undefined) return undefined;
    if (typeof value === "string" && !value.trimStart().startsWith("["))
      return splitOutsideBraces(value).map((word) => word.trim());
    return this.list(name)?.map(plainText);
  }

  #decoded(name: string): unknown {
    const value = this.#values.get(name);
    if (typeof value !== "string") return value;
    try {
      return fromJson(value);
    } catch (error) {
      if (error instanceof GraphError) throw error;
      return value; // not JSON: the caller reports the expected type
    }
  }
}

/** Splits at commas outside braces: `id,business{id,name}` has two parts. */
export function splitOutsideBraces(text: string): string[] {
  const words = [""];
  let depth = 0;
  for (const letter of text) {
    if (letter === "{") depth += 1;
    if (letter === "}") depth -= 1;
    if (letter === "," && depth === 0) words.push("");
    else words[words.length - 1] += letter;
  }
  return words;
}
