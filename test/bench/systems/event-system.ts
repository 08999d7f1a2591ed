import type { EventDraft } from "../../../src/domain/events/record-events.ts";
import type { BacklogSystem } from "./backlog-system.ts";

/** An event as it was committed, with the time of the commit on the machine's monotonic clock. */
export interface CommittedEvent {
  id: string;
  at: number;
}

/** A system that delivers events. */
export interface EventSystem extends BacklogSystem<EventDraft> {
  /** Commits one event and enqueues it. */
  emit(draft: EventDraft): Promise<CommittedEvent>;
  /** Discards the waiting events and waits until no call is open; `endCalls` ends those that hang. */
  clear?(endCalls: () => Promise<void>): Promise<void>;
}
