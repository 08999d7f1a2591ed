import { MINUTE } from "../../runtime/durations.ts";
import { invalidParameter } from "../wire/graph-error.ts";

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
export function readTime(text: string, zone: string, name: string): Date {
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
