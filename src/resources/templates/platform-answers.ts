import type { ChannelAccess } from "../../domain/channels/channel-access.ts";
import { invalidateChannelToken } from "../../domain/channels/channels.ts";
import type { Fields } from "../../platforms/bodies.ts";
import { asObject, isObject, omitNullish, textOf } from "../../platforms/bodies.ts";
import { toTemplateStatus } from "../../platforms/chat/templates.ts";
import type { Refusal } from "../../platforms/client/call.ts";
import type { Platforms } from "../../platforms/platforms.ts";
import type { EventNotifier } from "../../queue/wake-ups.ts";
import type { Log } from "../../runtime/log.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import type { TemplateUpdate } from "../../store/channels/templates.ts";
import type { Database } from "../../store/database/database.ts";
import type { TemplateDto } from "./schema.ts";

/** The parts of the routes; each request has its own database. */
export interface TemplateRouteParts {
  secretBox: SecretBox;
  log: Log;
  platforms: Pick<Platforms, "chat">;
  notifier: EventNotifier;
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

/** Undefined for an item without an id. */
export function toTemplate(item: Fields): TemplateDto | undefined {
  const [hsm_id, platformStatus] = [textOf(item.id), textOf(item.status)];
  if (hsm_id === undefined) return undefined;
  const fields = {
    hsm_id,
    name: textOf(item.name),
    language: textOf(item.language),
    category: textOf(item.category),
    status: platformStatus === undefined ? undefined : toTemplateStatus(platformStatus),
    platform_status: platformStatus,
    rejected_reason: textOf(item.rejected_reason),
    quality_score: textOf(item.quality_score) ?? textOf(asObject(item.quality_score).score),
    components: Array.isArray(item.components) ? item.components.filter(isObject) : undefined,
  };
  return omitNullish(fields) as TemplateDto;
}

interface TemplateSource {
  clientId: string;
  wabaId: string;
  at: Date;
}

/** The template as a cache update; none when its name or language is unknown. */
export function toTemplateUpdates(
  template: TemplateDto,
  { clientId, wabaId, at }: TemplateSource,
): TemplateUpdate[] {
  const { hsm_id, name, language } = template;
  if (name === undefined || language === undefined) return [];
  return [
    {
      client_id: clientId,
      waba_id: wabaId,
      hsm_id,
      name,
      language,
      category: template.category ?? null,
      status: template.status ?? null,
      platform_status: template.platform_status ?? null,
      reason: template.rejected_reason ?? null,
      quality_score: template.quality_score ?? null,
      updated_at: at,
    },
  ];
}
