import { withTimeout } from "../runtime/async/with-timeout.ts";
import { SECOND } from "../runtime/durations.ts";
import { withoutTrailing } from "../runtime/without-trailing.ts";
import { type Destinations, ipLiteralOf, type Scheme } from "./destinations.ts";
import type { Resolver } from "./resolver.ts";

export interface AddressRules {
  destinations: Destinations;
  publicUrl: string;
  resolver: Resolver;
}

export type CheckedAddress = { outcome: "accepted"; url: string } | { outcome: "refused"; message: string };

/** A name that resolves more slowly is checked only when a delivery connects. */
const RESOLVE_TIMEOUT_MS = 2 * SECOND;
export const MAX_ADDRESS_CHARS = 2_048;

interface CandidateAddress {
  text: string;
  url: URL;
  rules: AddressRules;
}

const INCOMPLETE_MESSAGE = "webhook_url must be a complete https address, such as https://example.com/herald";

const HOST_MESSAGE =
  "webhook_url must have a valid host and port; give an international host name in its punycode form, such as xn--caf-dma.example.com";

/** The URL parser also accepts `https:host`, `https:\\host` and similar texts. */
const isComplete = (text: string) => /^https?:\/\/[^/\\]/i.test(text);

/** Reasons to refuse an address; the first match is reported. */
const REFUSALS: readonly { matches(candidate: CandidateAddress): boolean; message: string }[] = [
  { matches: ({ text }) => !isComplete(text), message: INCOMPLETE_MESSAGE },
  {
    matches: ({ text }) => /^[^/]*\/\/[^/\\]*@/.test(text),
    message: "webhook_url must not contain a user name or password",
  },
  { matches: ({ text }) => /[?#]/.test(text), message: "webhook_url must not contain a query or a fragment" },
  {
    matches: ({ url }) => !isHostName(url.hostname) || url.port === "0",
    message: HOST_MESSAGE,
  },
  {
    matches: ({ url }) => url.href.length > MAX_ADDRESS_CHARS,
    message: `webhook_url must have at most ${MAX_ADDRESS_CHARS} characters when URL-encoded`,
  },
  {
    matches: ({ url, rules }) => url.protocol === "http:" && !rules.destinations.allowsHttp,
    message: "webhook_url must be https",
  },
  {
    matches: ({ url, rules }) => originOf(url) === originOf(new URL(rules.publicUrl)),
    message: "webhook_url must not point to this service",
  },
];

/** A trailing dot does not change a host name. */
const withoutTrailingDot = (hostname: string) => (hostname.endsWith(".") ? hostname.slice(0, -1) : hostname);

const originOf = ({ protocol, hostname, port }: URL) =>
  `${protocol}//${withoutTrailingDot(hostname)}:${port}`;

/** The limits of the domain name system. The URL parser accepts empty and overlong labels. */
const [MAX_HOST_CHARS, MAX_LABEL_CHARS] = [253, 63];

function isHostName(hostname: string): boolean {
  if (hostname.startsWith("[")) return true; // an IPv6 address
  const name = withoutTrailingDot(hostname);
  const isLabel = (label: string) => label.length > 0 && label.length <= MAX_LABEL_CHARS;
  return name.length <= MAX_HOST_CHARS && name.split(".").every(isLabel);
}

/** Checks whether events may be sent to this address; returns the form in which it is stored. */
export async function checkAddress(text: string, rules: AddressRules): Promise<CheckedAddress> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url) return { outcome: "refused", message: isComplete(text) ? HOST_MESSAGE : INCOMPLETE_MESSAGE };
  const refusal = REFUSALS.find(({ matches }) => matches({ text, url, rules }));
  if (refusal) return { outcome: "refused", message: refusal.message };
  const scheme = url.protocol as Scheme;
  const addresses = await addressesOf(url, rules.resolver);
  // Over http only a name whose addresses are all known to be allowed is accepted; over https the check at connect time decides.
  const isProven = scheme === "https:" || addresses.length > 0;
  if (!isProven || !addresses.every((address) => rules.destinations.isAllowed(address, scheme)))
    return { outcome: "refused", message: DENIED_MESSAGES[scheme] };
  return { outcome: "accepted", url: withoutTrailing(url.href, "/") };
}

const DENIED_MESSAGES: Readonly<Record<Scheme, string>> = {
  "http:":
    "webhook_url must be https, unless its name resolves to addresses to which the operator of this service allows http",
  "https:": "webhook_url must not point to a private or reserved address",
};

/** Returns no addresses when the name does not resolve in time. */
async function addressesOf(url: URL, resolver: Resolver): Promise<string[]> {
  const literal = ipLiteralOf(url);
  if (literal !== undefined) return [literal];
  const resolved = resolver(url.hostname).catch(() => []);
  const found = await withTimeout(RESOLVE_TIMEOUT_MS, resolved, () => []);
  return found.map(({ address }) => address);
}
