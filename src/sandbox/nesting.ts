const DEEPEST = 100;

/** Whether JSON is nested deeper than anybody means: what can be read of it cannot always be written again. */
export const isTooDeep = (value: unknown, left = DEEPEST): boolean =>
  typeof value === "object" &&
  value !== null &&
  (left === 0 || Object.values(value).some((inner) => isTooDeep(inner, left - 1)));
