import { withTimeout } from "../runtime/async/with-timeout.ts";
import { SECOND } from "../runtime/durations.ts";
import { type Destinations, ipLiteralOf, type Scheme } from "./destinations.ts";
import type { Resolver } from "./resolver.ts";

export interface AddressRules {
  destinations: Destinations;
  publicUrl: string;
  resolver: Resolver;
}

export type CheckedAddress = { outcome: "accepted"; url: string } | { outcome: "refused"; message: string };

/** How long we wait for the name: what comes later is left to the check at connect time. */
const RESOLVE_TIMEOUT_MS = 2 * SECOND;
export const MAX_ADDRESS_CHARS = 2_048;

interface CandidateAddress {
  text: string;
  url: URL;
  rules: AddressRules;
}

/** What no address may be, in the order of telling. */
const REFUSALS: readonly { matches(candidate: CandidateAddress): boolean; message: string }[] = [
  {
    // The parser would also take `https:host`, `https:\\host` and the like.
    matches: ({ text }) => !/^https?:\/\/[^/\\]/i.test(text),
    message: "webhook_url must be an https address",
  },
  {
    matches: ({ text }) => /^[^/]*\/\/[^/\\]*@/.test(text),
    message: "webhook_url must not contain a user name or password",
  },
  { matches: ({ text }) => /[?#]/.test(text), message: "webhook_url must have no query and no fragment" },
  {
    matches: ({ url }) => url.href.length > MAX_ADDRESS_CHARS,
    message: `webhook_url must have at most ${MAX_ADDRESS_CHARS} characters when it is encoded`,
  },
  {
    matches: ({ url, rules }) => url.protocol === "http:" && !rules.destinations.allowsHttp,
    message: "webhook_url must be https",
  },
  {
    matches: ({ url, rules }) => originOf(url) === originOf(new URL(rules.publicUrl)),
    message: "webhook_url must not lead back to this service",
  },
];

/** A name with a dot at its end is the same name. */
const originOf = ({ protocol, hostname, port }: URL) => `${protocol}//${hostname.replace(/\.$/, "")}:${port}`;

/** Whether events may be sent to this address, and the form in which it is kept. */
export async function checkAddress(text: string, rules: AddressRules): Promise<CheckedAddress> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url) return { outcome: "refused", message: "webhook_url must be an https address" };
  const refusal = REFUSALS.find(({ matches }) => matches({ text, url, rules }));
  if (refusal) return { outcome: "refused", message: refusal.message };
  const scheme = url.protocol as Scheme;
  const addresses = await addressesOf(url, rules.resolver);
  if (!addresses.every((address) => rules.destinations.isAllowed(address, scheme)))
    return { outcome: "refused", message: DENIED_MESSAGES[scheme] };
  return { outcome: "accepted", url: url.href.replace(/\/+$/, "") };
}

const DENIED_MESSAGES: Readonly<Record<Scheme, string>> = {
  "http:": "webhook_url must be https, but for addresses that the operator of this service exempts",
  "https:": "webhook_url leads to a private or otherwise reserved address",
};

/** None where the name does not resolve, or not in time. */
async function addressesOf(url: URL, resolver: Resolver): Promise<string[]> {
  const literal = ipLiteralOf(url);
  if (literal !== undefined) return [literal];
  const resolved = resolver(url.hostname).catch(() => []);
  const found = await withTimeout(RESOLVE_TIMEOUT_MS, resolved, () => []);
  return found.map(({ address }) => address);
}
