/** Formats a row's time for the API. */
export const toTimestamp = <D extends Date | null>(date: D) =>
  (date?.toISOString() ?? null) as D extends Date ? string : string | null;

export interface PeriodInput {
  since?: string | undefined;
  until?: string | undefined;
}

/** The parsed times; a field is absent when the input's field is. */
export interface Period {
  since?: Date;
  until?: Date;
}

export interface PeriodProblem {
  field: keyof Period;
  /** The sentence after the field's name, without the other field's name at its end. */
  problem: string;
  other?: keyof Period;
}

/** Describes the problem; callers that spell the fields differently give their spelling. */
export const describePeriodProblem = (
  { field, problem, other }: PeriodProblem,
  nameOf: (field: keyof Period) => string = (name) => name,
): string => [nameOf(field), problem, ...(other ? [nameOf(other)] : [])].join(" ");

/** Parses both ends of a period (valid RFC 3339 date-times), or returns the problem with one of them. */
export function readPeriod(input: PeriodInput): Period | PeriodProblem {
  const period: Period = {};
  for (const field of ["since", "until"] as const) {
    const text = input[field];
    if (text === undefined) continue;
    const time = new Date(text);
    // Date rejects some valid date-times: leap seconds, and offsets without minutes.
    if (Number.isNaN(time.getTime())) return { field, problem: INVALID_TIME };
    period[field] = time;
  }
  const { since, until } = period;
  return since && until && since > until
    ? { field: "since", problem: "must not be later than", other: "until" }
    : period;
}

const INVALID_TIME = "must be an RFC 3339 time such as 2026-11-01T09:30:00Z and no leap second";
