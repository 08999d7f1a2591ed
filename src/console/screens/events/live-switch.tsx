import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { followEvents, type StreamState } from "../../app/event-stream.ts";
import { query } from "../../app/router.ts";
import { texts } from "../../texts.ts";

/** Whether lists of events are kept up to date; the person's choice holds on all of them. */
const isLive = signal(true);

/** Events come in groups, and their deliveries follow: the list is asked for again after these times. */
const REFRESH_AFTER_MS = [300, 1_500, 4_000];

interface LiveParts {
  /** False on older pages, to which no new event belongs. */
  isPossible: boolean;
  refresh(): Promise<unknown>;
}

/** Follows the event stream while live, and refreshes the list after each event. Returns the state of the stream. */
export function useLive({ isPossible, refresh }: LiveParts): StreamState {
  const [state, setState] = useState<StreamState>("stopped");
  const latestRefresh = useRef(refresh);
  latestRefresh.current = refresh;
  const { key, type, channel_id } = query.value;
  const isFollowing = isLive.value && isPossible;
  useEffect(() => {
    if (!isFollowing) return;
    const timers = new Map<number, ReturnType<typeof setTimeout>>();
    const refreshSoon = () => {
      for (const ms of REFRESH_AFTER_MS)
        if (!timers.has(ms))
          timers.set(
            ms,
            setTimeout(() => {
              timers.delete(ms);
              void latestRefresh.current();
            }, ms),
          );
    };
    const stop = followEvents({
      query: { keys: key, types: type, channel_id },
      onItems: refreshSoon,
      onState(next) {
        setState(next);
        // Events may have come between the list and the beginning of the stream.
        if (next === "live" || next === "polling") refreshSoon();
      },
    });
    return () => {
      stop();
      for (const timer of timers.values()) clearTimeout(timer);
    };
  }, [isFollowing, key, type, channel_id]);
  return isFollowing ? state : "stopped";
}

interface LiveSwitchProps {
  isPossible: boolean;
  state: StreamState;
}

export const LiveSwitch = ({ isPossible, state }: LiveSwitchProps) => (
  <label class="switch">
    <input
      type="checkbox"
      role="switch"
      aria-checked={isLive.value}
      checked={isLive.value}
      disabled={!isPossible}
      onChange={({ currentTarget }) => {
        isLive.value = currentTarget.checked;
      }}
    />
    <span class={`status ${state === "live" ? "good" : state === "stopped" ? "none" : "waiting"}`}>
      <span class="dot" aria-hidden="true" />
      {isPossible ? texts.events.live[state] : texts.events.live.notHere}
    </span>
  </label>
);
