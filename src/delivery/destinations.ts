import { BlockList, isIP } from "node:net";
import type { Cidr } from "../runtime/config/setting-kinds.ts";

/** Ranges that belong to no server on the Internet: private, loopback, link-local, for documentation, tests or translation. */
const DENIED_IPV4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16/32", // answers every virtual machine of a large cloud, with its secrets
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

/** Of IPv6 only the unicast addresses handed out so far: what embeds an IPv4 address lies outside, or is denied in it. */
const PUBLIC_IPV6 = ["2000::/3"];
const DENIED_IPV6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

/** How an event is sent. Unencrypted it goes nowhere but to PRIVATE_DESTINATIONS. */
export type Scheme = "http:" | "https:";

export interface Destinations {
  /** Whether events may go to this address: one that stands in a URL, or that a name resolves to. */
  isAllowed(address: string, scheme: Scheme): boolean;
  /** The same of a socket's other end, which the system may write as an IPv4 address mapped to IPv6. */
  isAllowedPeer(address: string, scheme: Scheme): boolean;
  /** Whether there is any address that may be reached unencrypted. */
  allowsHttp: boolean;
}

/** The guard of where events go; `exceptions` are PRIVATE_DESTINATIONS. */
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
      isAllowed(address, scheme) || isAllowed(address.replace(IPV4_MAPPED_PREFIX, ""), scheme),
    allowsHttp: exceptions.length > 0,
  };
}

const IPV4_MAPPED_PREFIX = /^::ffff:(?=[\d.]+$)/i;

/** The address in the host of a URL, whose parser has undone every odd way to write one; undefined where it is a name. */
export function ipLiteralOf({ hostname }: URL): string | undefined {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  return isIP(host) === 0 ? undefined : host;
}

/** One list per family: in a common one Node finds an IPv4 address in ranges of IPv6, and Deno does not. */
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
