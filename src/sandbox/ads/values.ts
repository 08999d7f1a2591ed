import { MINUTE } from "../../runtime/durations.ts";
import { invalidParameter } from "../graph/graph-error.ts";
import type { Params } from "../graph/params.ts";

/** An object's values by parameter name. A time is a Date, an amount the text of an integer. */
export type Values = Record<string, unknown>;

interface ReaderInput {
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

const OFFSET = /GMT(?:([+-])(\d\d):(\d\d))?/;

/** By zone, because creating a format takes longer than a hundred uses of it. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns the zone's offset from UTC at that instant, in minutes. */
function offsetAt(zone: string, instant: Date): number {
  const format =
    formats.get(zone) ?? new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
  formats.set(zone, format);
  const [, sign = "+", hours = "0", minutes = "0"] = OFFSET.exec(format.format(instant)) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

const padTwo = (number: number) => String(number).padStart(2, "0");

/** Formats a time like the platform: in the account's zone, with an offset without a colon. */
export function formatTimeIn(zone: string, instant: Date): string {
  const offset = offsetAt(zone, instant);
  const local = new Date(instant.getTime() + offset * MINUTE).toISOString().slice(0, 19);
  const absoluteOffset = Math.abs(offset);
  return `${local}${offset < 0 ? "-" : "+"}${padTwo(Math.floor(absoluteOffset / 60))}${padTwo(absoluteOffset % 60)}`;
}

const ISO = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?)?$/;

/** Parses a caller's time: Unix seconds or ISO 8601; without an offset the account's zone applies. */
function readTime(text: string, zone: string, name: string): Date {
  if (/^\d{9,11}$/.test(text)) return new Date(Number(text) * 1000);
  const [, day, time = "00:00", seconds = ":00", offset] = ISO.exec(text) ?? [];
  const utc = new Date(`${day}T${time}${seconds}Z`);
  if (Number.isNaN(utc.getTime())) throw invalidParameter(`Param ${name} must be a valid time`);
  const offsetMinutes = offset === undefined ? offsetAt(zone, utc) : minutesOf(offset);
  return new Date(utc.getTime() - offsetMinutes * MINUTE);
}

function minutesOf(offset: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(offset) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0));
}
