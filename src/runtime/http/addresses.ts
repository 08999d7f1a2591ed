import { isIPv6 } from "node:net";

const IPV6_GROUPS = 8;
const PREFIX_GROUPS = 4;

/**
 * The network that counts as one caller: an IPv4 address, or the /64 of an IPv6 address, which one customer of a provider
 * usually has to choose from. Other text is returned as it is.
 */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [text = ""] = address.toLowerCase().split("%");
  const mapped = /^::ffff:(\d[\d.]{6,14})$/.exec(text)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = "", tail] = text.split("::");
  const groups = groupsOf(head);
  const rest = tail === undefined ? [] : groupsOf(tail);
  const zeros = Array(Math.max(0, IPV6_GROUPS - groups.length - rest.length)).fill(0);
  const prefix = [...groups, ...zeros, ...rest].slice(0, PREFIX_GROUPS);
  return `${prefix.map((group: number) => group.toString(16)).join(":")}::/64`;
}

/** The 16-bit groups of a part of an address; an IPv4 address at its end counts as two. */
const groupsOf = (part: string): number[] =>
  part === ""
    ? []
    : part.split(":").flatMap((group) => (group.includes(".") ? [0, 0] : [Number.parseInt(group, 16)]));

/** Adds parameters to a URL, which may have a query already. */
export function withQuery(address: string, params: Readonly<Record<string, string>>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return url.href;
}

/** Removes all occurrences of a character at the end of a text; `/x+$/` would take quadratic time. */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}
