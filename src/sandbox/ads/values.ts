import { invalidParameter } from "../wire/graph-error.ts";
import type { Params } from "../wire/params.ts";
import { readTime } from "./times.ts";

/** An object's values by parameter name. A time is a Date, an amount the text of an integer. */
export type Values = Record<string, unknown>;

export interface ReaderInput {
  params: Params;
  name: string;
  /** The account's time zone, used for times without an offset. */
  zone: string;
}

/** Reads one parameter as its type, or throws. Undefined when it is absent. */
export type Reader = (input: ReaderInput) => unknown;

export const text: Reader = ({ params, name }) => {
  const value = params.text(name);
  if (value?.trim() === "") throw invalidParameter(`The parameter ${name} is required.`);
  return value;
};

/** Reads an amount in the smallest unit of the account's currency. */
export const amount: Reader = (input) => {
  const value = count(input);
  return value === undefined ? undefined : String(value);
};

export const count: Reader = ({ params, name }) => {
  const value = params.integer(name);
  if (value !== undefined && value < 0)
    throw invalidParameter(`Param ${name} must be greater than or equal to 0`);
  return value;
};

export const flag: Reader = ({ params, name }) => params.flag(name);
export const object: Reader = ({ params, name }) => params.object(name);
export const list: Reader = ({ params, name }) => params.list(name);
export const texts: Reader = ({ params, name }) => params.texts(name);

export const time: Reader = ({ params, name, zone }) => {
  const value = params.text(name);
  return value === undefined ? undefined : readTime(value, zone, name);
};

const describeChoice = (words: readonly string[]) => `one of {${words.join(", ")}}`;

export const oneOf =
  (words: readonly string[]): Reader =>
  ({ params, name }) => {
    const value = params.text(name);
    if (value !== undefined && !words.includes(value))
      throw invalidParameter(`Param ${name} must be ${describeChoice(words)} - got "${value}".`);
    return value;
  };

export const listOf =
  (words: readonly string[]): Reader =>
  ({ params, name }) => {
    const values = params.list(name);
    const unknownIndex = values?.findIndex((value) => !words.includes(value as string)) ?? -1;
    if (unknownIndex >= 0)
      throw invalidParameter(`Param ${name}[${unknownIndex}] must be ${describeChoice(words)}`);
    return values;
  };

/** Reads the parameters that the table defines. Others are ignored, like on the platform. */
export function readValues(readers: Readonly<Record<string, Reader>>, params: Params, zone: string): Values {
  const values: Values = {};
  for (const [name, read] of Object.entries(readers)) {
    const value = params.has(name) ? read({ params, name, zone }) : undefined;
    if (value !== undefined) values[name] = value;
  }
  return values;
}
