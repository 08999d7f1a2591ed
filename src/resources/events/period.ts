import { invalidField } from "../../runtime/errors.ts";
import { type GivenPeriod, readPeriod } from "../../schema/period.ts";

/** Its times as such, each optional where it was. */
type PeriodOf<G> = { [F in keyof Pick<G, keyof G & keyof GivenPeriod>]: Date };

/** The times of a request, or 400 naming the one that is wrong. */
export function periodOf<G extends GivenPeriod>(given: G): PeriodOf<G> {
  const period = readPeriod(given);
  if ("field" in period) throw invalidField(`/${period.field}`, `${period.field} ${period.problem}`);
  return period as PeriodOf<G>;
}
