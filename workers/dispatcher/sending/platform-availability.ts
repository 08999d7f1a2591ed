import { LRUCache } from "lru-cache";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Log } from "../../../src/runtime/log.ts";

/**
 * A platform is reachable or unreachable. It becomes unreachable after MAX_FAILURES consecutive sends without a connection.
 * Its sends then wait, without an attempt, until a pause has ended; one send at a time may try it, and each one that fails
 * doubles the pause. It is reachable again when the platform answers. Each dispatcher decides for itself.
 */

const MAX_FAILURES = 5;
const FIRST_PAUSE_MS = 1 * SECOND;
const MAX_PAUSE_MS = 30 * SECOND;
const MAX_KNOWN_CHANNELS = 10_000;

interface Outage {
  failures: number;
  pauses: number;
  pausedUntil: number;
  /** The channel of the send that tries the platform. */
  probe?: string | undefined;
}

export type PlatformAvailability = ReturnType<typeof createPlatformAvailability>;

export function createPlatformAvailability(log: Log, now: () => number = Date.now) {
  const outages = new Map<string, Outage>();
  /** Platforms of the channels that this process has sent messages of. */
  const platformsByChannel = new LRUCache<string, string>({ max: MAX_KNOWN_CHANNELS });
  const isUnreachable = ({ failures }: Outage) => failures >= MAX_FAILURES;
  const outageOf = (channelId: string) => {
    const outage = outages.get(platformsByChannel.get(channelId) ?? "");
    return outage && isUnreachable(outage) ? outage : undefined;
  };

  function recordFailure(platform: string): void {
    const outage = outages.get(platform) ?? { failures: 0, pauses: 0, pausedUntil: 0 };
    outages.set(platform, outage);
    outage.failures += 1;
    if (!isUnreachable(outage) || outage.pausedUntil > now()) return;
    const ms = Math.min(FIRST_PAUSE_MS * 2 ** outage.pauses, MAX_PAUSE_MS);
    Object.assign(outage, { pausedUntil: now() + ms, pauses: outage.pauses + 1 });
    if (outage.pauses === 1) log.warn("platform.unreachable", { platform });
  }

  function recordAnswer(platform: string): void {
    const outage = outages.get(platform);
    if (!outage) return;
    outages.delete(platform);
    if (isUnreachable(outage)) log.info("platform.recovered", { platform });
  }

  return {
    /** Milliseconds until sends of the channel may start. */
    sleepOf: (channelId: string): number => Math.max(0, (outageOf(channelId)?.pausedUntil ?? 0) - now()),
    /** Returns how many of `count` sends of the channel may start. `release` follows when they have ended. */
    acquire(channelId: string, count: number): number {
      const outage = outageOf(channelId);
      if (!outage) return count;
      if (count === 0 || outage.probe !== undefined || outage.pausedUntil > now()) return 0;
      outage.probe = channelId;
      return 1;
    },
    release(channelId: string): void {
      const outage = outageOf(channelId);
      if (outage?.probe === channelId) outage.probe = undefined;
    },
    record({ platform, channel_id }: { platform: string; channel_id: string }, hasConnection: boolean): void {
      platformsByChannel.set(channel_id, platform);
      (hasConnection ? recordAnswer : recordFailure)(platform);
    },
  };
}
