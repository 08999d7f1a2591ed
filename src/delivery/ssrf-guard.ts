import { Resolver as DnsResolver, lookup } from "node:dns/promises";
import { BlockList, isIP, type LookupFunction, type Socket } from "node:net";
import { buildConnector } from "undici";
import type { Cidr } from "../runtime/config/setting-kinds.ts";
import { SECOND } from "../runtime/durations.ts";

/**
 * The guard against server-side request forgery, for addresses that clients choose: `Destinations` says which IP addresses
 * may get events, the resolver finds those of a name, and the connector checks both and limits each answer.
 */

/** Ranges without public servers: private, loopback, link-local, documentation, test and translation addresses. */
const DENIED_IPV4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16/32", // gives every virtual machine of a large cloud its secrets
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];

/** The IPv6 unicast range allocated so far. Addresses that embed an IPv4 address are outside it or denied within it. */
const PUBLIC_IPV6 = ["2000::/3"];
const DENIED_IPV6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

/** Unencrypted events go only to PRIVATE_DESTINATIONS. */
export type Scheme = "http:" | "https:";

export interface Destinations {
  /** True when events may go to this IP address, which is in a URL or resolved from a name. */
  isAllowed(address: string, scheme: Scheme): boolean;
  /** Checks a socket's remote address, which the system may write as an IPv4 address mapped to IPv6. */
  isAllowedPeer(address: string, scheme: Scheme): boolean;
  /** True when events may go to any address unencrypted. */
  allowsHttp: boolean;
}

/** `exceptions` are PRIVATE_DESTINATIONS. */
export function createDestinations(exceptions: readonly Cidr[]): Destinations {
  const isException = { 4: createRangeCheck(exceptions, "ipv4"), 6: createRangeCheck(exceptions, "ipv6") };
  function isAllowed(address: string, scheme: Scheme): boolean {
    const version = isIP(address);
    if (version !== 4 && version !== 6) return false;
    if (isException[version](address)) return true;
    return scheme === "https:" && IS_PUBLIC[version](address);
  }
  return {
    isAllowed,
    isAllowedPeer: (address, scheme) =>
      isAllowed(address, scheme) || isAllowed(address.replace(IPV4_MAPPED, "$1"), scheme),
    allowsHttp: exceptions.length > 0,
  };
}

const IPV4_MAPPED = /^::ffff:([\d.]+)$/i;

/** Returns the IP address in a URL's host, in the form that the URL parser normalised; undefined for a name. */
export function ipLiteralOf({ hostname }: URL): string | undefined {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  return isIP(host) === 0 ? undefined : host;
}

/** Uses a list per family: in a common list, Node matches IPv4 addresses to IPv6 ranges and Deno does not. */
function createRangeCheck(ranges: readonly Cidr[], family: Cidr["family"]): (address: string) => boolean {
  const list = new BlockList();
  for (const range of ranges)
    if (range.family === family) list.addSubnet(range.address, range.prefix, family);
  return (address) => list.check(address, family);
}

const parseRangeCheck = (texts: readonly string[], family: Cidr["family"]) =>
  createRangeCheck(
    texts.map((text) => {
      const [address = "", prefix] = text.split("/");
      return { address, prefix: Number(prefix), family };
    }),
    family,
  );

const [isDeniedIpv4, isUnicastIpv6, isDeniedIpv6] = [
  parseRangeCheck(DENIED_IPV4, "ipv4"),
  parseRangeCheck(PUBLIC_IPV6, "ipv6"),
  parseRangeCheck(DENIED_IPV6, "ipv6"),
];

const IS_PUBLIC = {
  4: (address: string) => !isDeniedIpv4(address),
  6: (address: string) => isUnicastIpv6(address) && !isDeniedIpv6(address),
};

interface ResolvedAddress {
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

/** The resolved or connected address is not an allowed destination. */
export class AddressNotAllowed extends Error {
  override name = "AddressNotAllowed";
  readonly code = "ADDRESS_NOT_ALLOWED";
}

interface ConnectorParts {
  destinations: Destinations;
  resolver: Resolver;
  /** Milliseconds, including name resolution. */
  timeout: number;
}

/**
 * Connects only to allowed destinations: checks the resolved addresses, and the peer's address once connected. Limits
 * the bytes of each answer.
 */
export function guardedConnector(parts: ConnectorParts): buildConnector.connector {
  const connectors = { "http:": connectorOf("http:", parts), "https:": connectorOf("https:", parts) };
  return (options, callback) => {
    const scheme = options.protocol as Scheme;
    connectors[scheme](options, (error, socket) => {
      const fault = error ?? checkPeer(socket, (peer) => parts.destinations.isAllowedPeer(peer, scheme));
      if (fault) {
        socket?.destroy();
        return callback(fault, null);
      }
      limitAnswers(socket as Socket);
      return callback(null, socket as Socket);
    });
  };
}

function checkPeer({ remoteAddress }: Socket, isAllowed: (peer: string) => boolean): Error | undefined {
  if (remoteAddress === undefined)
    return Object.assign(new Error("the peer closed the connection"), { code: "ECONNRESET" });
  return isAllowed(remoteAddress) ? undefined : new AddressNotAllowed();
}

const connectorOf = (scheme: Scheme, { destinations, resolver, timeout }: ConnectorParts) =>
  buildConnector({
    timeout,
    lookup: guardedLookup(resolver, (address) => destinations.isAllowed(address, scheme)),
    // Node's default of 250 ms for each of several addresses is too short for distant servers.
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 2 * SECOND,
  });

/** Refuses a name when any of its addresses is not allowed, because the owner of the name controls their order. */
function guardedLookup(resolver: Resolver, isAllowed: (address: string) => boolean): LookupFunction {
  return (hostname, { all, family }, callback) => {
    const fail = (error: Error) => callback(error, []);
    const answer = (found: readonly ResolvedAddress[]) => {
      if (!found.every(({ address }) => isAllowed(address))) return fail(new AddressNotAllowed());
      const matching = found.filter((one) => (family !== 4 && family !== 6 ? true : one.family === family));
      const [first] = matching;
      if (!first)
        return fail(
          Object.assign(new Error("the name has no address of this family"), { code: "ENOTFOUND" }),
        );
      return all ? callback(null, [...matching]) : callback(null, first.address, first.family);
    };
    resolver(hostname).then(answer, fail);
  };
}

/** The backend sent more bytes in answer to one request than an answer may have. */
export class AnswerTooLarge extends Error {
  override name = "AnswerTooLarge";
  readonly code = "ANSWER_TOO_LARGE";
}

/** On the wire: headers, body and chunk framing. */
const MAX_WIRE_BYTES = 131_072;
/** Parsed at once. A longer answer continues in the next turn of the event loop: tiny headers and chunks cost most. */
const MAX_SLICE_BYTES = 4_096;

/**
 * Limits what a backend can make this process parse: a connection ends when it receives too many bytes in answer to one
 * request, and is read in slices. The HTTP client limits headers and body, but accepts interim answers, trailers, chunk
 * extensions and empty lines without end.
 */
function limitAnswers(socket: Socket): void {
  let [answerBytes, sliceBytes] = [0, 0];
  const [read, write] = [socket.read, socket.write] as [Socket["read"], (...args: unknown[]) => boolean];

  function startSlice(): void {
    sliceBytes = 0;
    if (!socket.destroyed) socket.emit("readable");
  }

  socket.write = (...args: unknown[]) => {
    answerBytes = 0; // a request begins
    return write.apply(socket, args);
  };
  socket.read = () => {
    if (socket.destroyed || sliceBytes === MAX_SLICE_BYTES) return null;
    const size = Math.min(socket.readableLength, MAX_SLICE_BYTES - sliceBytes);
    const chunk = size === 0 ? read.call(socket) : read.call(socket, size);
    if (chunk === null) return null;
    answerBytes += chunk.length;
    sliceBytes += chunk.length;
    if (sliceBytes === MAX_SLICE_BYTES) setImmediate(startSlice);
    if (answerBytes <= MAX_WIRE_BYTES) return chunk;
    socket.destroy(new AnswerTooLarge());
    return null;
  };
}
