import { type EventNotifier, notifyAfterCommit } from "../../queue/wake-ups.ts";
import type { EmbedResultDto } from "../../schema/channels.ts";
import { sealPin } from "../../security/number-pins.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import { completeSession, lockTry } from "../../store/embed/claimed-tries.ts";
import { savePin } from "../../store/embed/number-pins.ts";
import type { TryLease } from "../../store/embed/tries.ts";
import type { AuditActor } from "../../store/tenants/audit-log.ts";
import { recordEvents } from "../events/record-events.ts";
import { toChannel } from "./channel-dto.ts";
import { channelConnected } from "./channel-events.ts";
import { type ChannelInput, connectInTransaction } from "./channels.ts";

interface Parts {
  db: Database;
  secretBox: SecretBox;
  notifier: EventNotifier;
}

export interface CompletedSignup {
  lease: TryLease;
  channel: Omit<ChannelInput, "externalRef" | "takeOver">;
  /** The PIN with which a phone number was registered. */
  pin?: string | undefined;
}

/** `lost`: the session was completed, revoked or expired, or another try has begun. */
export type SignupOutcome = { outcome: "completed"; result: EmbedResultDto } | { outcome: "lost" | "taken" };

/**
 * Connects the channel and completes its session in one transaction. The platform has proven that the person may grant
 * the asset, so it is taken over from another client.
 */
export function completeSignup(
  parts: Parts,
  actor: AuditActor,
  { lease, channel, pin }: CompletedSignup,
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
