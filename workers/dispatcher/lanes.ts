import type { LaneLimits } from "./concurrency-limiter.ts";

/** Lanes of events: fresh ones, and replays in bulk, which never delay fresh ones. */
export type EventLane = "events" | "bulk";

export const laneOf = (isBulk: boolean): EventLane => (isBulk ? "bulk" : "events");

const UNRESTRICTED: LaneLimits = { share: 1, sharePerKey: 1, countsOtherLanes: false };

/** Replays share the slots with fresh events and never delay them. */
export const DELIVERY_LANES: Readonly<Record<EventLane, LaneLimits>> = {
  events: UNRESTRICTED,
  bulk: { share: 0.1, sharePerKey: 0.05, countsOtherLanes: true },
};

export const SEND_LANE = "outbound";
export type SendLane = typeof SEND_LANE;
export const SEND_LANES: Readonly<Record<SendLane, LaneLimits>> = { [SEND_LANE]: UNRESTRICTED };
