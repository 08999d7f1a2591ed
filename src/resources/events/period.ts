import { invalidField } from "../../runtime/errors.ts";

interface Given {
  since?: string;
  until?: string;
}

/** Its times as such, each optional where it was. */
type Period<G> = { [F in keyof Pick<G, keyof G & keyof Given>]: Date };

/** The times of a request, or 400 naming the one that is none. */
export function periodOf<G extends Given>({ since, until }: G): Period<G> {
  const period = {
    ...(since === undefined ? {} : { since: timeOf("since", since) }),
    ...(until === undefined ? {} : { until: timeOf("until", until) }),
  };
  if (period.since && period.until && period.since > period.until)
    throw invalidField("/since", "since must not be later than until");
  return period as Period<G>;
}

/** A valid date-time may be one that no Date can hold: a leap second, an offset of hours alone. */
function timeOf(field: string, text: string): Date {
  const time = new Date(text);
  if (!Number.isNaN(time.getTime())) return time;
  throw invalidField(`/${field}`, `${field} must be a time such as 2026-11-01T09:30:00Z, no leap second`);
}
