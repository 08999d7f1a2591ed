import { SIGNUP_ANSWER_TTL_MS } from "../../runtime/deadlines.ts";
import { sealGrant } from "../../security/embed-tokens.ts";
import { pauseTry, type TryPause } from "../../store/embed/claimed-tries.ts";
import { completeSignup } from "../channels/complete-signup.ts";
import { registerNumber } from "./register-number.ts";
import { SignupError } from "./signup-error.ts";
import type { GrantedAsset, SignupGrant, SignupPlatform } from "./signup-platform.ts";
import { aboutRun, type RunStep, type SignupParts, type SignupRun } from "./signup-run.ts";

/** How often a person may enter the PIN of a number in one try. */
const MAX_PIN_TRIES = 3;

export interface RunContext {
  parts: SignupParts;
  run: SignupRun;
  platform: SignupPlatform;
  runStep: RunStep;
}

/** Connects the only asset of the grant. With a PIN the subscription exists already. */
export async function connectAsset(context: RunContext, grant: SignupGrant, pin?: string): Promise<void> {
  const { parts, run, platform, runStep } = context;
  const granted = grant.assets[0] as GrantedAsset;
  if (pin === undefined) await runStep("subscribe", () => platform.subscribe(granted));
  const { asset, token } = granted;
  if (asset.platform !== "chatapp") return store(context, grant, {});
  const { numbers } = parts.platforms.chat;
  const { wabaId, phoneNumberId } = asset;
  const number = { wabaId, phoneNumberId, token, about: aboutRun(run) };
  const registration = await runStep("register", async () => {
    const input = { clientId: run.row.client_id, number, pin };
    const registered = await registerNumber({ ...parts, numbers }, input);
    if (registered.outcome === "wrong_pin" && pinTriesLeft(run, pin) === 0)
      throw new SignupError("pin_rejected", "The platform has refused the PIN of the phone number");
    return registered;
  });
  if (registration.outcome === "wrong_pin")
    return pauseSteps(context, grant, { phase: "pin", choices: null, pinTriesLeft: pinTriesLeft(run, pin) });
  const templateNamespace = await runStep("namespace", () => numbers.namespace(number));
  return store(context, grant, { templateNamespace, pin: registration.pin });
}

/** The claim of a request with a PIN has already reduced the number of tries. */
const pinTriesLeft = ({ row }: SignupRun, pin: string | undefined): number =>
  pin === undefined ? MAX_PIN_TRIES : (row.pin_tries_left ?? 0);

interface ChatDetails {
  templateNamespace?: string | undefined;
  pin?: string | undefined;
}

async function store(
  { parts, run, runStep }: RunContext,
  grant: SignupGrant,
  { templateNamespace, pin }: ChatDetails,
): Promise<void> {
  const { asset, token, name, displayPhoneNumber } = grant.assets[0] as GrantedAsset;
  const { platformUserId } = grant;
  const details = { displayName: name, displayPhoneNumber, templateNamespace, platformUserId };
  const outcome = await runStep("store", async () => {
    const channel = { asset, token, ...details };
    const completion = await completeSignup(parts, run.actor, { lease: run.lease, channel, pin });
    if (completion.outcome === "taken")
      throw new SignupError("channel_taken", "Another client has just connected this number or page");
    return completion;
  });
  if (outcome.outcome !== "completed") return;
  const { channel_id: channel, platform } = outcome.result.channel;
  parts.log.info("signup.completed", { ...aboutRun(run), channel, platform });
}

/** Stores the grant encrypted and waits for the person. */
export const pauseSteps = (
  { parts: { db, secretBox }, run: { row, lease } }: RunContext,
  grant: SignupGrant,
  answer: Pick<TryPause, "phase" | "choices" | "pinTriesLeft">,
): Promise<void> => {
  const grantSealed = sealGrant(secretBox, row.id, JSON.stringify(grant));
  const grantUserId = grant.platformUserId ?? null;
  return pauseTry(db, lease, { ...answer, grantSealed, grantUserId, ttlMs: SIGNUP_ANSWER_TTL_MS });
};
