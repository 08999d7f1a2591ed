/** A row's time as it stands on the wire. */
export const toTimestamp = <D extends Date | null>(date: D) =>
  (date?.toISOString() ?? null) as D extends Date ? string : string | null;
