import { MINUTE } from "../../runtime/durations.ts";

interface UsedRow {
  id: string;
  last_used_at: Date | null;
}

/** Records the use of a credential; called with its cached row for each request. */
export type UseRecorder = (row: UsedRow) => void;

/**
 * Writes last_used_at at most once a minute, and once per cached row. Not awaited: the request does not depend on it, and
 * a failure only leaves last_used_at out of date.
 */
export function createUseRecorder(
  touch: (id: string) => Promise<void>,
  onFailure: (id: string, error: unknown) => void,
): UseRecorder {
  const recorded = new WeakSet<UsedRow>();
  return (row) => {
    if (recorded.has(row)) return;
    recorded.add(row);
    if (row.last_used_at !== null && Date.now() - row.last_used_at.getTime() < MINUTE) return;
    touch(row.id).catch((error: unknown) => onFailure(row.id, error));
  };
}
