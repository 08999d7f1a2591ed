import { BlockList, isIP } from "node:net";
import type { Cidr } from "../runtime/config/setting-kinds.ts";

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
