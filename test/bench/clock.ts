/** Milliseconds of the monotonic clock of the machine, which all processes share. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;
