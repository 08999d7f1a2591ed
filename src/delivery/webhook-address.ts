import { within } from "../runtime/async/with-timeout.ts";
import { SECOND } from "../runtime/durations.ts";
import { type Destinations, literalIn, type Scheme } from "./destinations.ts";
import type { Resolver } from "./resolver.ts";

export interface AddressRules {
  destinations: Destinations;
  publicUrl: string;
  resolver: Resolver;
}

export type CheckedAddress = { outcome: "accepted"; url: string } | { outcome: "refused"; message: string };

/** How long we wait for the name: what comes later is left to the check at connect time. */
const PATIENCE = 2 * SECOND;
export const LONGEST_ADDRESS = 2_048;

interface Given {
  text: string;
  url: URL;
  rules: AddressRules;
}

/** What no address may be, in the order of telling. */
const REFUSALS: readonly { is(given: Given): boolean; message: string }[] = [
  {
    // The parser would also take `https:host`, `https:\\host` and the like.
    is: ({ text }) => !/^https?:\/\/[^/\\]/i.test(text),
    message: "webhook_url must be an https address",
  },
  {
    is: ({ text }) => /^[^/]*\/\/[^/\\]*@/.test(text),
    message: "webhook_url must not contain a user name or password",
  },
  { is: ({ text }) => /[?#]/.test(text), message: "webhook_url must have no query and no fragment" },
  {
    is: ({ url }) => url.href.length > LONGEST_ADDRESS,
    message: `webhook_url must have at most ${LONGEST_ADDRESS} characters when it is encoded`,
  },
  {
    is: ({ url, rules }) => url.protocol === "http:" && !rules.destinations.takesHttp,
    message: "webhook_url must be https",
  },
  {
    is: ({ url, rules }) => originOf(url) === originOf(new URL(rules.publicUrl)),
    message: "webhook_url must not lead back to this service",
  },
];

/** A name with a dot at its end is the same name. */
const originOf = ({ protocol, hostname, port }: URL) => `${protocol}//${hostname.replace(/\.$/, "")}:${port}`;

/** Whether events may be sent to this address, and the form in which it is kept. */
export async function checkAddress(text: string, rules: AddressRules): Promise<CheckedAddress> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url) return { outcome: "refused", message: "webhook_url must be an https address" };
  const refusal = REFUSALS.find(({ is }) => is({ text, url, rules }));
  if (refusal) return { outcome: "refused", message: refusal.message };
  const scheme = url.protocol as Scheme;
  const addresses = await addressesOf(url, rules.resolver);
  if (!addresses.every((address) => rules.destinations.isAllowed(address, scheme)))
    return { outcome: "refused", message: DENIED[scheme] };
  return { outcome: "accepted", url: url.href.replace(/\/+$/, "") };
}

const DENIED: Readonly<Record<Scheme, string>> = {
  "http:": "webhook_url must be https, but for addresses that the operator of this service exempts",
  "https:": "webhook_url leads to a private or otherwise reserved address",
};

/** None where the name does not resolve, or not in time. */
async function addressesOf(url: URL, resolver: Resolver): Promise<string[]> {
  const literal = literalIn(url);
  if (literal !== undefined) return [literal];
  const resolved = resolver(url.hostname).catch(() => []);
  const found = await within(PATIENCE, resolved, () => []);
  return found.map(({ address }) => address);
}
