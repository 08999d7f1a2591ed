import { SECOND } from "../../../src/runtime/durations.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";

/**
 * A platform is reachable or unreachable. It becomes unreachable after MAX_FAILURES consecutive sends without a connection.
 * Its sends then wait, without an attempt, until a pause has ended; one send at a time may try it, and each one that fails
 * doubles the pause. It is reachable again when the platform answers. Each dispatcher decides for itself.
 */

const MAX_FAILURES = 5;
const FIRST_PAUSE_MS = 1 * SECOND;
const MAX_PAUSE_MS = 30 * SECOND;

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
  /** Platforms of the channels whose sends had no connection. */
  const platformsByChannel = new Map<string, string>();
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
    for (const [channelId, name] of platformsByChannel)
      if (name === platform) platformsByChannel.delete(channelId);
    if (isUnreachable(outage)) log.info("platform.recovered", { platform });
  }

  return {
    /** True when a send of the channel may start. `release` follows when it has ended. */
    acquire(channelId: string): boolean {
      const outage = outageOf(channelId);
      if (!outage) return true;
      if (outage.probe !== undefined || outage.pausedUntil > now()) return false;
      outage.probe = channelId;
      return true;
    },
    release(channelId: string): void {
      const outage = outageOf(channelId);
      if (outage?.probe === channelId) outage.probe = undefined;
    },
    record({ platform, channel_id }: { platform: string; channel_id: string }, hasConnection: boolean): void {
      if (!hasConnection) platformsByChannel.set(channel_id, platform);
      (hasConnection ? recordAnswer : recordFailure)(platform);
    },
    /** Platforms whose sends wait. */
    pausedPlatforms: (): string[] =>
      [...outages]
        .filter(([, outage]) => isUnreachable(outage) && outage.pausedUntil > now())
        .map(([platform]) => platform),
  };
}
