import { HOUR } from "../../runtime/durations.ts";
import { type PhoneNumber, WABAS, type Waba } from "../built-in-assets.ts";
import { perSandbox, type SandboxContext } from "../context.ts";
import { invalidParameter } from "../graph/graph-error.ts";
import type { Call, Edge } from "../graph/node.ts";
import type { Grant } from "../graph/tokens.ts";
import { chatError, checkProduct } from "./chat-error.ts";

/** A number and its business account. */
export interface Sender {
  waba: Waba;
  number: PhoneNumber;
}

const SENDERS: ReadonlyMap<string, Sender> = new Map(
  WABAS.flatMap((waba) => waba.numbers.map((number) => [number.id, { waba, number }] as const)),
);

export const isPhoneNumberId = (id: string): boolean => SENDERS.has(id);

/** Throws for an unknown id; callers pass nodes that the graph has already matched. */
export function senderOf(id: string): Sender {
  const sender = SENDERS.get(id);
  if (!sender) throw new Error(`no number has the id ${id}`);
  return sender;
}

export const isWaba = (id: string): boolean => WABAS.some((waba) => waba.id === id);

/** Throws for an unknown id; callers pass nodes that the graph has already matched. */
export function wabaOf(id: string): Waba {
  const waba = WABAS.find((candidate) => candidate.id === id);
  if (!waba) throw new Error(`no business account has the id ${id}`);
  return waba;
}

export const reachesNumber = (grant: Grant, id: string): boolean =>
  grant.assets.includes(senderOf(id).waba.id);

export const digitsOf = ({ display_phone_number }: PhoneNumber): string =>
  display_phone_number.replaceAll(/\D/g, "");

/** The fields that identify the number in a webhook. */
export const metadataOf = ({ number }: Sender) => ({
  display_phone_number: digitsOf(number),
  phone_number_id: number.id,
});

/** An edge that manages the business account. */
export const managementEdge = (answer: Edge["answer"]): Edge => ({
  scopes: ["whatsapp_business_management"],
  usage: "whatsapp",
  answer,
});

/** An edge that sends or receives. */
export const messagingEdge = (answer: Edge["answer"]): Edge => ({
  scopes: ["whatsapp_business_messaging"],
  usage: "whatsapp",
  answer,
});

const REGISTRATION_WINDOW_MS = 72 * HOUR;
const MAX_REGISTRATIONS_PER_WINDOW = 10;

/** Grants and `deregister` make a number await registration; `register` ends that. */
interface Registrations {
  /** Numbers that cannot send. Numbers start outside it, so that connected channels work after a restart. */
  awaiting: Set<string>;
  /** Numbers that a new grant leaves registered: the demo client's, and those registered before. */
  registered: Set<string>;
  pins: Map<string, string>;
  /** Times of each number's registrations and deregistrations. */
  attempts: Map<string, number[]>;
}

const registrationsOf = perSandbox((): Registrations => {
  const numbers = WABAS.flatMap((waba) => waba.numbers);
  return {
    awaiting: new Set(
      numbers.filter(({ code_verification_status: code }) => code === "NOT_VERIFIED").map(({ id }) => id),
    ),
    registered: new Set(WABAS[0]?.numbers.map(({ id }) => id)),
    pins: new Map(numbers.flatMap(({ id, pin }) => (pin === undefined ? [] : [[id, pin] as const]))),
    attempts: new Map(),
  };
});

export const isRegistered = (context: SandboxContext, number: string): boolean =>
  !registrationsOf(context).awaiting.has(number);

/** Makes the numbers of a newly granted business account unable to send until they are registered. */
export function awaitRegistration(context: object, asset: string): void {
  const { awaiting, registered } = registrationsOf(context);
  for (const { id } of WABAS.find((waba) => waba.id === asset)?.numbers ?? [])
    if (!registered.has(id)) awaiting.add(id);
}

export function register(context: SandboxContext, { node, params }: Call): unknown {
  checkProduct(params);
  const pin = params.requiredText("pin");
  if (!/^\d{6}$/.test(pin)) throw invalidParameter("Param pin must be 6 digits");
  const { awaiting, registered, pins } = registrationsOf(context);
  countAttempt(context, node);
  if (senderOf(node).number.code_verification_status === "NOT_VERIFIED")
    throw chatError(133006, "The phone number must be verified before it is registered.");
  if ((pins.get(node) ?? pin) !== pin) throw chatError(133005, "The two-step PIN entered is incorrect.");
  pins.set(node, pin);
  awaiting.delete(node);
  registered.add(node);
  return { success: true };
}

export function deregister(context: SandboxContext, { node }: Call): unknown {
  countAttempt(context, node);
  const { awaiting, registered } = registrationsOf(context);
  awaiting.add(node);
  registered.delete(node);
  return { success: true };
}

/** Throws when the number has too many attempts in the window. A rejected attempt is not counted. */
function countAttempt(context: SandboxContext, number: string): void {
  const { attempts } = registrationsOf(context);
  const recent = (attempts.get(number) ?? []).filter((at) => Date.now() - at < REGISTRATION_WINDOW_MS);
  if (recent.length >= MAX_REGISTRATIONS_PER_WINDOW)
    throw chatError(133016, "Too many registrations of this phone number in a short time.");
  attempts.set(number, [...recent, Date.now()]);
}
