import { isPlatformId } from "../../runtime/ids.ts";
import {
  findTemplateStatuses,
  type TemplateTraits,
  type TemplateUpdate,
} from "../../store/channels/templates.ts";
import type { Queryable } from "../../store/database/database.ts";
import { cacheTemplates, cacheTemplateTraits } from "../channels/template-cache.ts";
import type { InboundDraft } from "../events/record-events.ts";

/** Data of a template event. */
interface TemplateEventData {
  hsm_id: string;
  name?: string;
  language?: string;
  status?: string;
  platform_status?: string;
  reason?: string;
  after?: string;
}

interface Notice {
  draft: InboundDraft;
  data: TemplateEventData;
  at: Date;
}

/**
 * Stores template updates; returns the drafts that report no status with the stored one. Idempotent: repeated and older updates
 * change nothing.
 */
export async function cacheTemplateUpdates(
  db: Queryable,
  drafts: readonly InboundDraft[],
): Promise<Map<InboundDraft, InboundDraft>> {
  const notices = drafts.map(toNotice);
  await cacheTemplates(db, notices.flatMap(toTemplateUpdates));
  await cacheTemplateTraits(db, notices.flatMap(toTraits));
  return completeStatuses(db, notices.filter(isMissingStatus));
}

function toNotice(draft: InboundDraft): Notice {
  const { occurredAt, data } = draft.reading;
  return {
    draft,
    data: JSON.parse(data.text),
    // A time in the future would make all updates until then look outdated.
    at: new Date(Math.min(occurredAt.getTime(), Date.now())),
  };
}

/** Skips updates without a status: they must not change the time as of which the status is known. */
function toTemplateUpdates({ draft, data, at }: Notice): TemplateUpdate[] {
  const { hsm_id, name, language, status, platform_status, reason } = data;
  if (status === undefined || name === undefined || language === undefined) return [];
  return [
    {
      client_id: draft.clientId,
      waba_id: draft.reading.asset.id,
      hsm_id,
      name,
      language,
      category: null,
      status,
      platform_status: platform_status ?? null,
      reason: reason ?? null,
      quality_score: null,
      updated_at: at,
    },
  ];
}

function toTraits({ draft, data, at }: Notice): TemplateTraits[] {
  const { hsm_id, after } = data;
  if (after === undefined) return [];
  const traits = { client_id: draft.clientId, hsm_id, category: null, quality_score: null, at };
  return [
    draft.type === "template.category_updated"
      ? { ...traits, category: after }
      : { ...traits, quality_score: after },
  ];
}

const isMissingStatus = ({ draft, data }: Notice) =>
  draft.type === "template.status_updated" && data.status === undefined && isPlatformId(data.hsm_id);

async function completeStatuses(
  db: Queryable,
  notices: readonly Notice[],
): Promise<Map<InboundDraft, InboundDraft>> {
  if (notices.length === 0) return new Map();
  const refs = notices.map(({ draft, data }) => ({ client_id: draft.clientId, hsm_id: data.hsm_id }));
  const found = await findTemplateStatuses(db, refs);
  const statusByTemplate = new Map(
    found.map(({ client_id, hsm_id, status }) => [`${client_id} ${hsm_id}`, status]),
  );
  return new Map(
    notices.flatMap(({ draft, data }) => {
      const status = statusByTemplate.get(`${draft.clientId} ${data.hsm_id}`);
      return status === undefined ? [] : [[draft, { ...draft, data: { ...data, status } }]];
    }),
  );
}
