import { invalidParameter } from "../../wire/graph-error.ts";
import { chatError } from "../chat-error.ts";

/** A part of a message's content that knows its own path, so that errors can name the wrong value. */
export class Part {
  readonly #values: Record<string, unknown>;
  readonly #at: string;

  constructor(values: unknown, at = "") {
    if (typeof values !== "object" || values === null || Array.isArray(values))
      throw chatError(131009, `${at} must be a JSON object`);
    this.#values = values as Record<string, unknown>;
    this.#at = at;
  }

  has(name: string): boolean {
    return this.#values[name] !== undefined;
  }

  /** The path of a value in errors: `text['body']`. */
  pathOf(name: string): string {
    return this.#at === "" ? name : `${this.#at}['${name}']`;
  }

  text(name: string, maxLength?: number): string | undefined {
    const value = this.#values[name];
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw chatError(131009, `${this.pathOf(name)} must be a string`);
    if (maxLength !== undefined && value.length > maxLength)
      throw invalidParameter(`Param ${this.pathOf(name)} must be at most ${maxLength} characters long.`);
    return value;
  }

  requiredText(name: string, maxLength?: number): string {
    const value = this.text(name, maxLength);
    if (value === undefined || value === "") throw this.#missing(name);
    return value;
  }

  /** Checks a number, or the text of one. */
  coordinate(name: string, maxAbsolute: number): void {
    const value = this.#values[name];
    if (value === undefined) throw this.#missing(name);
    if (value === "" || !(Math.abs(numberOf(value)) <= maxAbsolute))
      throw chatError(
        131009,
        `${this.pathOf(name)} must be a number between -${maxAbsolute} and ${maxAbsolute}`,
      );
  }

  oneOf<Word extends string>(name: string, words: readonly Word[]): Word {
    const word = words.find((candidate) => candidate === this.requiredText(name));
    if (word === undefined)
      throw invalidParameter(`Param ${this.pathOf(name)} must be one of {${words.join(", ")}}`);
    return word;
  }

  /** Returns the index of a template button; the platform accepts it as text or number. */
  index(): number {
    const value = numberOf(this.#values.index);
    if (!Number.isInteger(value)) throw chatError(131009, `${this.pathOf("index")} must be an integer`);
    return value;
  }

  object(name: string): Part {
    if (!this.has(name)) throw this.#missing(name);
    return new Part(this.#values[name], this.pathOf(name));
  }

  /** Requires at least `minItems` items; one by default. */
  list(name: string, { minItems = 1, maxItems = Number.POSITIVE_INFINITY } = {}): Part[] {
    const value = this.#values[name];
    if (value === undefined && minItems > 0) throw this.#missing(name);
    const items = value ?? [];
    if (!Array.isArray(items)) throw chatError(131009, `${this.pathOf(name)} must be an array`);
    if (items.length < minItems || items.length > maxItems)
      throw chatError(131009, `${this.pathOf(name)} must have ${minItems} to ${maxItems} items`);
    return items.map((item, index) => new Part(item, `${this.pathOf(name)}[${index}]`));
  }

  #missing(name: string) {
    return chatError(131008, `The parameter ${this.pathOf(name)} is required.`);
  }
}

/** Ignores objects: `Number` would call a `valueOf` that the caller controls. */
const numberOf = (value: unknown): number =>
  typeof value === "number" || typeof value === "string" ? Number(value) : Number.NaN;
