import type { ChannelAccess } from "../../domain/channels/channel-access.ts";
import { endDeadToken } from "../../domain/channels/channels.ts";
import type { Refused } from "../../platforms/client/call.ts";
import type { Platforms } from "../../platforms/platforms.ts";
import type { Log } from "../../runtime/logging/log.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import type { Database } from "../../store/database/database.ts";

export interface TemplateParts {
  db: Database;
  secretBox: SecretBox;
  log: Log;
  /** Made at the first use. */
  chat: () => Platforms["chat"];
}

/** A refusal is answered as the platform said it; but a client whose token is dead hears of it all the same. */
export async function reasonOf(
  { db }: TemplateParts,
  { row }: ChannelAccess,
  { verdict, error, status }: Refused,
): Promise<string> {
  if (verdict === "token_dead") await endDeadToken(db, row);
  return error?.userMessage ?? error?.message ?? `The platform refused with status ${status}`;
}

/** The platform is the truth: that something of it could not be kept here must not hide what it has done. */
export async function kept({ log }: TemplateParts, { row }: ChannelAccess, keep: () => Promise<void>) {
  await keep().catch((err: unknown) =>
    log.warn("template.not_kept", { client: row.client_id, channel: row.id, err }),
  );
}
