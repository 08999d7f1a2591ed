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
