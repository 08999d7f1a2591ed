import { toTemplateStatus } from "../../platforms/chat/template-status.ts";
import type { Fields } from "../../platforms/client/body.ts";
import { asObject, isObject, omitNullish, textOf } from "../../platforms/client/json-values.ts";
import type { TemplateUpdate } from "../../store/channels/templates.ts";
import type { TemplateDto } from "./schema.ts";

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
