import { withTimeout } from "../runtime/async/timeouts-and-retries.ts";
import { SECOND } from "../runtime/durations.ts";
import { withoutTrailing } from "../runtime/http/addresses.ts";
import {
  CHANNEL_EVENTS,
  DISPATCH_KEYS,
  type DispatchKey,
  type EventKey,
  type EventType,
  MARKETING_EVENTS,
  PUBLISHING_EVENTS,
  SIGNUP_EVENTS,
  TEMPLATE_EVENTS,
} from "../schema/enumerations.ts";
import { type Destinations, ipLiteralOf, type Resolver, type Scheme } from "./ssrf-guard.ts";

/** Longest webhook_url, URL-encoded. */
export const MAX_ADDRESS_CHARS = 2_048;

export interface AddressRules {
  destinations: Destinations;
  publicUrl: string;
  resolver: Resolver;
}

export type CheckedAddress = { outcome: "accepted"; url: string } | { outcome: "refused"; message: string };

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

const DENIED_MESSAGES: Readonly<Record<Scheme, string>> = {
  "http:":
    "webhook_url must be https, unless its name resolves to addresses to which the operator of this service allows http",
  "https:": "webhook_url must not point to a private or reserved address",
};

/** A name that resolves more slowly is checked only when a delivery connects. */
const RESOLVE_TIMEOUT_MS = 2 * SECOND;

/** Returns no addresses when the name does not resolve in time. */
async function addressesOf(url: URL, resolver: Resolver): Promise<string[]> {
  const literal = ipLiteralOf(url);
  if (literal !== undefined) return [literal];
  const resolved = resolver(url.hostname).catch(() => []);
  const found = await withTimeout(RESOLVE_TIMEOUT_MS, resolved, () => []);
  return found.map(({ address }) => address);
}

/** Events with their own path below the path of their key. */
interface Branch {
  path: string;
  events: readonly EventType[];
}

interface Endpoint {
  path: string;
  /** Events without a branch: they go to the key's path. */
  events: readonly EventType[];
  branches?: readonly Branch[];
}

const TEMPLATE_BRANCH: Branch = { path: "/updateTemplateStatus", events: TEMPLATE_EVENTS };

const messagingEndpoint = (path: string, ...more: Branch[]): Endpoint => ({
  path,
  events: ["platform.event"],
  branches: [
    { path: "/receiveMessage", events: ["message.received"] },
    { path: "/updateMessageStatus", events: ["message.status"] },
    { path: "/sendResult", events: ["message.send_result"] },
    { path: "/updateBatch", events: ["batch.updated"] },
    ...more,
    { path: "/updateChannel", events: CHANNEL_EVENTS },
  ],
});

/** Paths below a client's webhook_url, and their events. */
const ENDPOINTS: Readonly<Record<EventKey, Endpoint>> = {
  chatapp: messagingEndpoint("/chat", TEMPLATE_BRANCH),
  photoapp: messagingEndpoint("/photo"),
  socialapp: messagingEndpoint("/social"),
  marketing: { path: "/marketing/events", events: [...MARKETING_EVENTS, "platform.event"] },
  publishing: { path: "/publishing/events", events: [...PUBLISHING_EVENTS, "platform.event"] },
  embedded_signup: { path: "/embedded-signup/events", events: SIGNUP_EVENTS },
};

/** Returns the address of an event below the base address; a test event without a key goes to the base address. */
export function addressOf(base: string, key: EventKey | null, type: EventType): string {
  if (key === null) return base;
  const { path, branches = [] } = ENDPOINTS[key];
  const branch = branches.find(({ events }) => events.includes(type));
  return base + path + (branch?.path ?? "");
}

/** Returns a key's addresses with the events of each; the addresses are null without a base address. */
export function describeEndpoint(base: string | null, key: EventKey) {
  const { path, events, branches = [] } = ENDPOINTS[key];
  const urlAt = (suffix: string) => (base === null ? null : base + path + suffix);
  const routes = branches.map((branch) => ({ url: urlAt(branch.path), events: branch.events }));
  return { url: urlAt(""), events, routes };
}

/** True when events of this type can have this key; test events can have any. */
export function isEventOfKey(key: EventKey, type: EventType): boolean {
  const { events, branches = [] } = ENDPOINTS[key];
  return type === "webhook.test" || [{ events }, ...branches].some((target) => target.events.includes(type));
}

export const isDispatchKey = (word: string): word is DispatchKey => DISPATCH_KEYS.some((key) => key === word);
