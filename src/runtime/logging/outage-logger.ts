import type { Fields, Log } from "./log.ts";
import type { LogEvent } from "./log-events.ts";

/** Logs the first failure and the first success after it: one line each per outage, however many attempts it has. */
export interface OutageLogger {
  failed(error: unknown): void;
  recovered(): void;
}

export function createOutageLogger(
  log: Log,
  { unavailable, recovered }: { unavailable: LogEvent; recovered: LogEvent },
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
