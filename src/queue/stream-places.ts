import { SECOND } from "../runtime/durations.ts";
import { newId } from "../runtime/ids.ts";
import type { RedisClient } from "./redis.ts";
import { taggedKey, tagOf } from "./wake-ups.ts";

/**
 * The places of open event streams, limited for each credential and client over all processes. A place in Redis expires unless
 * its process renews it, so those of a killed process are free soon. While Redis is unavailable, each process counts its own.
 */

export const STREAM_LIMITS = { credential: 5, client: 25, process: 500 } as const;

export type StreamLimit = keyof typeof STREAM_LIMITS;

const PLACE_TTL_MS = 12 * SECOND;
const RENEW_INTERVAL_MS = 4 * SECOND;

/** A client's places are a sorted set: members `<credential> <place>`, each with the time at which it expires. */
const NOW = `
  local time = redis.call("time")
  local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/** KEYS: the client's places. ARGV: the credential, the place, the lifetime, both limits. Returns the reached limit, or "". */
const TAKE = `${NOW}
  redis.call("zremrangebyscore", KEYS[1], "-inf", now)
  local members = redis.call("zrange", KEYS[1], 0, -1)
  local own = 0
  for _, member in ipairs(members) do
    if string.sub(member, 1, #ARGV[1] + 1) == ARGV[1] .. " " then own = own + 1 end
  end
  if own >= tonumber(ARGV[4]) then return "credential" end
  if #members >= tonumber(ARGV[5]) then return "client" end
  redis.call("zadd", KEYS[1], now + ARGV[3], ARGV[1] .. " " .. ARGV[2])
  redis.call("pexpire", KEYS[1], ARGV[3])
  return ""`;

/** KEYS: the client's places. ARGV: the lifetime, then the members to renew. */
const RENEW = `${NOW}
  for i = 2, #ARGV do redis.call("zadd", KEYS[1], now + ARGV[1], ARGV[i]) end
  redis.call("pexpire", KEYS[1], ARGV[1])`;

interface Place {
  clientId: string;
  credential: string;
  member: string;
}

export interface StreamPlaces {
  /** Returns a function that gives the place back, or the limit that is reached. */
  take(clientId: string, credential: string): Promise<(() => void) | StreamLimit>;
}

export function createStreamPlaces(redis: RedisClient, tags: readonly number[]): StreamPlaces {
  const places = new Set<Place>();
  let timer: NodeJS.Timeout | undefined;
  const keyOf = (clientId: string) => taggedKey(tagOf(clientId, tags), `stream-places:${clientId}`);

  function reachedHere(clientId: string, credential: string): StreamLimit | undefined {
    if (places.size >= STREAM_LIMITS.process) return "process";
    const own = [...places].filter((place) => place.clientId === clientId);
    if (own.filter((place) => place.credential === credential).length >= STREAM_LIMITS.credential)
      return "credential";
    return own.length >= STREAM_LIMITS.client ? "client" : undefined;
  }

  function renewAll(): void {
    for (const clientId of new Set([...places].map((place) => place.clientId))) {
      const members = [...places].filter((place) => place.clientId === clientId).map(({ member }) => member);
      redis.eval(RENEW, 1, keyOf(clientId), PLACE_TTL_MS, ...members).catch(() => {});
    }
  }

  function remove(place: Place): void {
    if (!places.delete(place)) return;
    if (places.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    async take(clientId, credential) {
      const reached = reachedHere(clientId, credential);
      if (reached) return reached;
      const id = newId("req");
      const place = { clientId, credential, member: `${credential} ${id}` };
      places.add(place);
      timer ??= setInterval(renewAll, RENEW_INTERVAL_MS);
      const limits = [STREAM_LIMITS.credential, STREAM_LIMITS.client];
      const answer = await redis
        .eval(TAKE, 1, keyOf(clientId), credential, id, PLACE_TTL_MS, ...limits)
        .catch(() => "");
      const leave = () => {
        remove(place);
        redis.zrem(keyOf(clientId), place.member).catch(() => {});
      };
      if (!answer) return leave;
      leave(); // it may have been renewed meanwhile
      return answer as StreamLimit;
    },
  };
}
