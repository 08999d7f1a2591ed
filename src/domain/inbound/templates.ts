import { isPlatformId } from "../../runtime/ids.ts";
import { TEMPLATE_EVENTS } from "../../schema/enumerations.ts";
import {
  findTemplateStatuses,
  type TemplateNews,
  type TemplateTraits,
} from "../../store/channels/templates.ts";
import type { Queryable } from "../../store/database/database.ts";
import { rememberTemplates, rememberTraits } from "../channels/template-cache.ts";
import type { Draft } from "./draft.ts";

/** What the platform tells of a template, as its event says it. */
interface Told {
  hsm_id: string;
  name?: string;
  language?: string;
  status?: string;
  platform_status?: string;
  reason?: string;
  after?: string;
}

interface Notice {
  draft: Draft;
  told: Told;
  at: Date;
}

/**
 * Keeps what the platform tells of templates, and answers the drafts, those that leave a status as it was with the one that
 * is known. It may be done any number of times: what is repeated changes nothing, and what is older neither.
 */
export async function mirrorTemplates(db: Queryable, drafts: readonly Draft[]): Promise<Draft[]> {
  const notices = drafts.filter(isAboutTemplate).map(toNotice);
  await rememberTemplates(db, notices.flatMap(toNews));
  await rememberTraits(db, notices.flatMap(toTraits));
  const completed = await withStatuses(db, notices.filter(lacksStatus));
  return drafts.map((draft) => completed.get(draft) ?? draft);
}

/** Templates belong to a whole business. */
const isAboutTemplate = ({ type, reading }: Draft) =>
  reading.asset.kind === "waba" && TEMPLATE_EVENTS.some((known) => known === type);

function toNotice(draft: Draft): Notice {
  const { occurredAt, data } = draft.reading;
  const now = Date.now();
  return {
    draft,
    told: JSON.parse(data.text),
    // A time to come would shut out all that is told until then.
    at: new Date(Math.min(occurredAt?.getTime() ?? now, now)),
  };
}

/** What says nothing of the status changes nothing: not even as of when it is known. */
function toNews({ draft, told, at }: Notice): TemplateNews[] {
  const { hsm_id, name, language, status, platform_status, reason } = told;
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

function toTraits({ draft, told, at }: Notice): TemplateTraits[] {
  const { hsm_id, after } = told;
  if (after === undefined) return [];
  const traits = { client_id: draft.clientId, hsm_id, category: null, quality_score: null, at };
  return [
    draft.type === "template.category_updated"
      ? { ...traits, category: after }
      : { ...traits, quality_score: after },
  ];
}

const lacksStatus = ({ draft, told }: Notice) =>
  draft.type === "template.status_updated" && told.status === undefined && isPlatformId(told.hsm_id);

async function withStatuses(db: Queryable, notices: readonly Notice[]): Promise<Map<Draft, Draft>> {
  if (notices.length === 0) return new Map();
  const refs = notices.map(({ draft, told }) => ({ client_id: draft.clientId, hsm_id: told.hsm_id }));
  const found = await findTemplateStatuses(db, refs);
  const known = new Map(found.map(({ client_id, hsm_id, status }) => [`${client_id} ${hsm_id}`, status]));
  return new Map(
    notices.flatMap(({ draft, told }) => {
      const status = known.get(`${draft.clientId} ${told.hsm_id}`);
      return status === undefined ? [] : [[draft, { ...draft, data: { ...told, status } }]];
    }),
  );
}
