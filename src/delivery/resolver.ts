import { Resolver as DnsResolver, lookup } from "node:dns/promises";
import { SECOND } from "../runtime/durations.ts";
import type { Destinations } from "./destinations.ts";

export interface ResolvedAddress {
  address: string;
  family: number;
}

/** The addresses of a name; throws when it has none. */
export type Resolver = (host: string) => Promise<readonly ResolvedAddress[]>;

interface ResolverOptions {
  destinations: Destinations;
  /** Other name servers than the system's. */
  servers?: readonly string[];
}

/**
 * Asks the name servers itself. The usual lookup would hold one of the few threads that the whole process has for it as long as
 * a tenant's name server likes, and everybody else's names would wait: it is asked only for names that no server knows, where
 * the operator has private destinations at all.
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

/** Where only one of the two may be reached, that one is meant. */
function allowedLoopback(destinations: Destinations): ResolvedAddress[] {
  const allowed = LOOPBACK.filter(({ address }) => destinations.isAllowed(address, "http:"));
  return allowed.length > 0 ? allowed : LOOPBACK;
}

/** By definition, whatever a name server may say. */
const isLoopback = (name: string) => /(^|\.)localhost$/i.test(name);

/** An answer, or that there is nobody to ask; a silence is neither. */
const isNotFound = (answer: PromiseSettledResult<unknown>): boolean =>
  answer.status === "rejected" && ["ENOTFOUND", "ENODATA", "ECONNREFUSED"].includes(answer.reason?.code);
