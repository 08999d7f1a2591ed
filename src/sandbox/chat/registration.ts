import { HOUR } from "../../runtime/durations.ts";
import { WABAS } from "../built-in-assets.ts";
import type { SandboxContext } from "../context.ts";
import { perSandbox } from "../per-sandbox.ts";
import type { Call } from "../wire/call.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import { chatError } from "./chat-error.ts";
import { senderOf } from "./numbers.ts";
import { checkProduct } from "./product.ts";

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
