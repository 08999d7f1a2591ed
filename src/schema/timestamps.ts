/** Formats a row's time for the API. */
export const toTimestamp = <D extends Date | null>(date: D) =>
  (date?.toISOString() ?? null) as D extends Date ? string : string | null;
