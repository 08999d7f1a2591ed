export interface PeriodInput {
  since?: string | undefined;
  until?: string | undefined;
}

/** Its times as such, each absent where it was. */
export interface Period {
  since?: Date;
  until?: Date;
}

interface PeriodProblem {
  field: keyof Period;
  /** What follows the field's name in a sentence. */
  problem: string;
}

/** Both ends of a time, each a valid date-time, or what is wrong with one of them. */
export function readPeriod(input: PeriodInput): Period | PeriodProblem {
  const period: Period = {};
  for (const field of ["since", "until"] as const) {
    const text = input[field];
    if (text === undefined) continue;
    const time = new Date(text);
    // A valid date-time may be one that no Date can hold: a leap second, an offset of hours alone.
    if (Number.isNaN(time.getTime())) return { field, problem: INVALID_TIME };
    period[field] = time;
  }
  const { since, until } = period;
  return since && until && since > until
    ? { field: "since", problem: "must not be later than until" }
    : period;
}

const INVALID_TIME = "must be a time such as 2026-11-01T09:30:00Z, no leap second";
