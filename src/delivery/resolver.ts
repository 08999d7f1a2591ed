import { Resolver as DnsResolver, lookup } from "node:dns/promises";
import { SECOND } from "../runtime/durations.ts";
import type { Destinations } from "./destinations.ts";

export interface ResolvedAddress {
  address: string;
  family: number;
}

/** Returns the addresses of a name; throws when it has none. */
export type Resolver = (host: string) => Promise<readonly ResolvedAddress[]>;

interface ResolverOptions {
  destinations: Destinations;
  /** Name servers to use instead of the system's. */
  servers?: readonly string[];
}

/**
 * Queries the name servers directly: `lookup` blocks one of the process's few threads for as long as a tenant's name server
 * is slow. `lookup` is used only for names that no server knows, and only when there are PRIVATE_DESTINATIONS.
 */
export function createResolver({ destinations, servers }: ResolverOptions): Resolver {
  const dns = new DnsResolver({ timeout: 2 * SECOND, tries: 2 });
  if (servers) dns.setServers(servers);
  const loopback = allowedLoopback(destinations);
  return async (host) => {
    const name = host.replace(/\.$/, "");
    if (isLoopback(name)) return loopback;
    const answers = await Promise.allSettled([dns.resolve4(name), dns.resolve6(name)]);
    const found = answers.flatMap((answer, index) =>
      answer.status === "fulfilled"
        ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 }))
        : [],
    );
    if (found.length > 0) return found;
    if (destinations.allowsHttp && answers.every(isNotFound)) return lookup(name, { all: true });
    throw Object.assign(new Error("the name has no address"), { code: "ENOTFOUND" });
  };
}

const LOOPBACK = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/** Returns the loopback addresses that are allowed, or both when neither is. */
function allowedLoopback(destinations: Destinations): ResolvedAddress[] {
  const allowed = LOOPBACK.filter(({ address }) => destinations.isAllowed(address, "http:"));
  return allowed.length > 0 ? allowed : LOOPBACK;
}

/** These names are loopback by definition, regardless of the name servers. */
const isLoopback = (name: string) => /(^|\.)localhost$/i.test(name);

/** True when the name server has no address or cannot be reached; false after a timeout. */
const isNotFound = (answer: PromiseSettledResult<unknown>): boolean =>
  answer.status === "rejected" && ["ENOTFOUND", "ENODATA", "ECONNREFUSED"].includes(answer.reason?.code);
