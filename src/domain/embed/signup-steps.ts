import type { ChatNumber } from "../../platforms/chat/numbers.ts";
import { PlatformFailure } from "../../platforms/errors/failure.ts";
import { notifyAfterCommit } from "../../queue/wake-ups.ts";
import { SIGNUP_ANSWER_TTL_MS } from "../../runtime/deadlines.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import type { EmbedResultDto } from "../../schema/channels.ts";
import type { Platform } from "../../schema/enumerations.ts";
import { generatePin, openGrant, openPin, sealGrant, sealPin } from "../../security/sealed-tokens.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { Queryable } from "../../store/database/database.ts";
import { deletePin, reservePin, savePin } from "../../store/embed/number-pins.ts";
import type { EmbedSessionRow } from "../../store/embed/sessions.ts";
import { completeSession, lockTry, pauseTry, type TryPause } from "../../store/embed/tries.ts";
import { assetIdOf, type ChannelInput, connectInTransaction, toChannel } from "../channels/channels.ts";
import { type EventDraft, recordEvents } from "../events/record-events.ts";
import {
  chatSignup,
  checkGrant,
  type GrantedAsset,
  pageSignup,
  SignupError,
  type SignupGrant,
  type SignupPlatform,
} from "./signup-platforms.ts";
import { aboutRun, type RunStep, runSteps, type SignupParts, type SignupRun } from "./tries.ts";

/**
 * Steps of a signup, in this order; a failed step is recorded with its name:
 *
 * exchange: the dialog's code becomes a token.
 * grant: the token must be valid and have every permission.
 * read: lists the granted numbers or pages; with several of them the try waits for the person's choice.
 * subscribe: Herald subscribes to the asset's webhooks.
 * register: a phone number is registered with a PIN; with another PIN at the platform the try waits for the person.
 * namespace: reads the template namespace of a phone number.
 * store: connects the channel and completes the session.
 */

/** The steps after the dialog. With several assets the try waits for the person's choice. */
export const runGrantedSteps = (parts: SignupParts, run: SignupRun, code: string): Promise<void> =>
  runSteps(parts, run, async (runStep) => {
    const platform = platformOf(parts, run);
    const context = { parts, run, platform, runStep };
    const token = await runStep("exchange", () => platform.exchange(code));
    const inspection = await runStep("grant", async () => {
      const found = await platform.inspect(token);
      checkGrant(found, platform.permissions);
      return found;
    });
    const assets = await runStep("read", () => readAssets(platform, token, inspection));
    const { userId = "" } = inspection;
    const grant = { assets, ...(isPlatformId(userId) ? { platformUserId: userId } : {}) };
    if (assets.length === 1) return connectAsset(context, grant);
    const choices = JSON.stringify(assets.map(toChoice));
    return pauseSteps(context, grant, { phase: "choosing", choices, pinTriesLeft: null });
  });

/** Ends a try whose dialog led back with an error of the platform. */
export const failDialog = (parts: SignupParts, run: SignupRun): Promise<void> =>
  runSteps(parts, run, (runStep) =>
    runStep("exchange", async () => {
      throw new SignupError("platform_invalid_request", "The platform's dialog ended with an error");
    }),
  );

/** The steps after the person's choice, which must be one of the offered assets. */
export const runChosenSteps = (parts: SignupParts, run: SignupRun, assetId: string): Promise<void> =>
  runSteps(parts, run, (runStep) => {
    const grant = grantOf(parts, run);
    const assets = grant.assets.filter(({ asset }) => assetIdOf(asset) === assetId);
    const context = { parts, run, platform: platformOf(parts, run), runStep };
    return connectAsset(context, { ...grant, assets });
  });

/** The steps after the person has entered the PIN of the number. */
export const runPinSteps = (parts: SignupParts, run: SignupRun, pin: string): Promise<void> =>
  runSteps(parts, run, (runStep) => {
    const context = { parts, run, platform: platformOf(parts, run), runStep };
    return connectAsset(context, grantOf(parts, run), pin);
  });

function platformOf({ platforms, redirectUri }: SignupParts, run: SignupRun): SignupPlatform {
  const platform = run.row.try_platform as Platform;
  const call = { redirectUri, about: aboutRun(run) };
  return platform === "chatapp"
    ? chatSignup(platforms.chat, call)
    : pageSignup(platforms.social, platform, call);
}

/** A longer list of choices would be of no use to a person. */
const MAX_GRANTED_ASSETS = 200;

async function readAssets(
  platform: SignupPlatform,
  ...[token, inspection]: Parameters<SignupPlatform["list"]>
): Promise<GrantedAsset[]> {
  const assets = await platform.list(token, inspection);
  if (assets.length <= MAX_GRANTED_ASSETS) return assets;
  throw new SignupError(
    "platform_invalid_request",
    `More than ${MAX_GRANTED_ASSETS} numbers or pages were granted: grant only the one to connect`,
  );
}

const toChoice = ({ asset, name, detail }: GrantedAsset) => ({
  asset_id: assetIdOf(asset),
  name,
  ...(detail === undefined || detail === name ? {} : { detail }),
});

/** Only for a try that waited for the person, which always has a grant. */
const grantOf = ({ secretBox }: SignupParts, { row }: SignupRun): SignupGrant =>
  JSON.parse(openGrant(secretBox, row.id, row.grant_sealed as string));

interface RunContext {
  parts: SignupParts;
  run: SignupRun;
  platform: SignupPlatform;
  runStep: RunStep;
}

/** Stores the grant encrypted and waits for the person. */
const pauseSteps = (
  { parts: { db, secretBox }, run: { row, lease } }: RunContext,
  grant: SignupGrant,
  answer: Pick<TryPause, "phase" | "choices" | "pinTriesLeft">,
): Promise<void> => {
  const grantSealed = sealGrant(secretBox, row.id, JSON.stringify(grant));
  const grantUserId = grant.platformUserId ?? null;
  return pauseTry(db, lease, { ...answer, grantSealed, grantUserId, ttlMs: SIGNUP_ANSWER_TTL_MS });
};

/** How often a person may enter the PIN of a number in one try. */
const MAX_PIN_TRIES = 3;

/** Connects the only asset of the grant. With a PIN the subscription exists already. */
async function connectAsset(context: RunContext, grant: SignupGrant, pin?: string): Promise<void> {
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
    const registered = await registerNumber(parts, input);
    if (registered.outcome === "wrong_pin" && pinTriesLeft(run, pin) === 0)
      throw new SignupError("pin_rejected", "The platform has refused the PIN of the phone number");
    return registered;
  });
  if (registration.outcome === "wrong_pin") {
    const choices = JSON.stringify([toChoice(granted)]);
    return pauseSteps(context, grant, { phase: "pin", choices, pinTriesLeft: pinTriesLeft(run, pin) });
  }
  const templateNamespace = await runStep("namespace", () => numbers.namespace(number));
  return store(context, grant, { templateNamespace, pin: registration.pin });
}

/** The claim of a request with a PIN has already reduced the number of tries. */
const pinTriesLeft = ({ row }: SignupRun, pin: string | undefined): number =>
  pin === undefined ? MAX_PIN_TRIES : (row.pin_tries_left ?? 0);

/** The platform's code for a number whose two-step PIN is another one. */
const WRONG_PIN_CODE = 133_005;

interface NumberPin {
  clientId: string;
  number: ChatNumber;
  /** The PIN that the person entered. */
  pin: string | undefined;
}

type Registration = { outcome: "registered"; pin: string } | { outcome: "wrong_pin" };

/**
 * Registers the number with the given PIN, else with the stored one, else with a random one. The PIN is stored before the
 * call, because the call may succeed without an answer; a PIN that the platform refuses is deleted.
 */
async function registerNumber(parts: SignupParts, input: NumberPin): Promise<Registration> {
  const { number } = input;
  const stored = await choosePin(parts, input);
  try {
    await parts.platforms.chat.numbers.register(number, stored.pin);
    return { outcome: "registered", pin: stored.pin };
  } catch (error) {
    if (!isWrongPin(error)) throw error;
    await deletePin(parts.db, { phoneNumberId: number.phoneNumberId, pinSealed: stored.pinSealed });
    return { outcome: "wrong_pin" };
  }
}

const isWrongPin = (error: unknown) =>
  error instanceof PlatformFailure && error.platformError?.code === WRONG_PIN_CODE;

interface StoredPin {
  pin: string;
  pinSealed: string;
}

/** Stores the person's PIN, or finds or generates one. */
async function choosePin(
  { db, secretBox }: SignupParts,
  { clientId, number: { phoneNumberId }, pin }: NumberPin,
): Promise<StoredPin> {
  const proposed = pin ?? generatePin();
  const pinSealed = sealPin(secretBox, phoneNumberId, proposed);
  if (pin === undefined) {
    const reserved = await reservePin(db, clientId, { phoneNumberId, pinSealed });
    const known = openPin(secretBox, phoneNumberId, reserved);
    if (known !== undefined) return { pin: known, pinSealed: reserved };
  }
  await savePin(db, clientId, { phoneNumberId, pinSealed });
  return { pin: proposed, pinSealed };
}

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
    const completion = await completeSignup(parts, run, { channel, pin });
    if (completion.outcome === "taken")
      throw new SignupError("channel_taken", "Another client has just connected this number or page");
    return completion;
  });
  if (outcome.outcome !== "completed") return;
  const { channel_id: channel, platform } = outcome.result.channel;
  parts.log.info("signup.completed", { ...aboutRun(run), channel, platform });
}

interface CompletedSignup {
  channel: Omit<ChannelInput, "externalRef" | "takeOver">;
  /** The PIN with which a phone number was registered. */
  pin?: string | undefined;
}

/** `lost`: the session was completed, revoked or expired, or another try has begun. */
type SignupOutcome = { outcome: "completed"; result: EmbedResultDto } | { outcome: "lost" | "taken" };

/**
 * Connects the channel and completes its session in one transaction. The platform has proven that the person may grant
 * the asset, so it is taken over from another client.
 */
function completeSignup(
  parts: SignupParts,
  { lease, actor }: SignupRun,
  { channel, pin }: CompletedSignup,
): Promise<SignupOutcome> {
  return notifyAfterCommit<SignupOutcome>(parts, async (tx, deferredNotifier) => {
    const session = await lockTry(tx, lease);
    if (!session) return { outcome: "lost" };
    const { external_ref: externalRef } = session;
    const input = { ...channel, externalRef: externalRef ?? undefined, takeOver: true };
    const connection = await connectInTransaction({ tx, secretBox: parts.secretBox }, actor, input);
    if (connection.outcome === "taken") return connection;
    if (pin !== undefined) await storePin({ tx, secretBox: parts.secretBox }, connection.row, pin);
    const result = toResult(connection.row, externalRef);
    await completeSession(tx, session.id, JSON.stringify(result));
    await recordEvents(tx, [channelConnected(session, result)], deferredNotifier);
    return { outcome: "completed", result };
  });
}

/** The client that stored the PIN before the registration may have been deleted since. */
async function storePin(
  { tx, secretBox }: { tx: Queryable; secretBox: SecretBox },
  { client_id: clientId, asset_id: phoneNumberId }: ChannelRow,
  pin: string,
): Promise<void> {
  await savePin(tx, clientId, { phoneNumberId, pinSealed: sealPin(secretBox, phoneNumberId, pin) });
}

const toResult = (row: ChannelRow, externalRef: string | null): EmbedResultDto => ({
  channel: toChannel(row),
  waba_id: row.waba_id,
  phone_number_id: row.phone_number_id,
  template_namespace: row.template_namespace,
  external_ref: externalRef,
});

const channelConnected = (
  { id, client_id, external_ref }: EmbedSessionRow,
  result: EmbedResultDto,
): EventDraft => ({
  clientId: client_id,
  type: "channel.connected",
  key: "embedded_signup",
  channelId: result.channel.channel_id,
  externalRef: external_ref,
  channelExternalRef: result.channel.external_ref ?? null,
  data: { session_id: id, result },
});
