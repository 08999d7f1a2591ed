import type { Fields, Log } from "./log.ts";

/** Says once that something is away, and once that it is back, however often it is tried meanwhile. */
export interface OutageLogger {
  failed(error: unknown): void;
  recovered(): void;
}

export function createOutageLogger(
  log: Log,
  { unavailable, recovered }: { unavailable: string; recovered: string },
  fields: Fields = {},
): OutageLogger {
  let isUnavailable = false;
  return {
    failed(error) {
      if (!isUnavailable) log.warn(unavailable, { ...fields, err: error });
      isUnavailable = true;
    },
    recovered() {
      if (isUnavailable) log.info(recovered, fields);
      isUnavailable = false;
    },
  };
}
