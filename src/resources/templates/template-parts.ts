import type { ChannelAccess } from "../../domain/channels/channel-access.ts";
import { invalidateChannelToken } from "../../domain/channels/channels.ts";
import type { Refusal } from "../../platforms/client/call.ts";
import type { Platforms } from "../../platforms/platforms.ts";
import type { Log } from "../../runtime/logging/log.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import type { Database } from "../../store/database/database.ts";

/** The parts of the routes; each request has its own database. */
export interface TemplateRouteParts {
  secretBox: SecretBox;
  log: Log;
  platforms: Pick<Platforms, "chat">;
}

export interface TemplateParts extends TemplateRouteParts {
  db: Database;
}

/**
 * Returns the platform's reason. A dead token also disconnects the channel, which sends an event to the
 * client.
 */
export async function explainRefusal(
  parts: TemplateParts,
  { row }: ChannelAccess,
  { verdict, error, status }: Refusal,
): Promise<string> {
  if (verdict === "token_dead") await invalidateChannelToken(parts, { channel: row, code: error?.code });
  return error?.userMessage ?? error?.message ?? `The platform rejected the request with status ${status}`;
}

/** Logs a failed cache write instead of throwing: the platform has already carried out the request. */
export async function tryCacheWrite(
  { log }: TemplateParts,
  { row }: ChannelAccess,
  write: () => Promise<void>,
) {
  await write().catch((err: unknown) =>
    log.warn("template_cache.write_failed", { client: row.client_id, channel: row.id, err }),
  );
}
