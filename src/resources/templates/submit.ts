import { type ChannelAccess, openChatChannel, toChatNumber } from "../../domain/channels/channel-access.ts";
import { answerAsOf, cacheTemplates } from "../../domain/channels/template-cache.ts";
import type { Requester } from "../../domain/tenants/request-actor.ts";
import { requireOpened } from "../../http/channel-errors.ts";
import type { Fields } from "../../platforms/client/body.ts";
import type { Refusal } from "../../platforms/client/call.ts";
import { omitNullish } from "../../platforms/client/json-values.ts";
import { toPlatformErrorBody } from "../../platforms/errors/platform-error.ts";
import type { PlatformErrorDto } from "../../schema/platform-error.ts";
import type { Static } from "../../schema/types.ts";
import type { SubmittedDto, submission } from "./schema.ts";
import { toTemplate, toTemplateUpdates } from "./template-dto.ts";
import { explainRefusal, type TemplateParts, tryCacheWrite } from "./template-parts.ts";

export async function submitTemplate(
  parts: TemplateParts,
  requester: Requester,
  { channel_id, template_data }: Static<typeof submission>,
): Promise<SubmittedDto> {
  const access = requireOpened(await openChatChannel(parts, requester, channel_id));
  const number = toChatNumber(access);
  const { clientId } = requester;
  const at = answerAsOf(new Date());
  const answer = await parts.platforms.chat.templates.create(number, template_data);
  if (answer.outcome === "refused") return toRefusedReply(parts, access, answer);
  const template = toTemplate(toListedFields(template_data, answer.body));
  if (template)
    await tryCacheWrite(parts, access, () =>
      cacheTemplates(parts.db, toTemplateUpdates(template, { clientId, wabaId: number.wabaId, at })),
    );
  const { hsm_id: id_external, status, platform_status } = template ?? {};
  return omitNullish({
    externalCode: ACCEPTED_STATUS,
    status,
    platform_status,
    id_external,
    name: template_data.name,
  }) as SubmittedDto;
}

const ACCEPTED_STATUS = 200;

/** The platform's answer has no name and language, but may contain another category. */
const toListedFields = (
  { name, language, category }: Static<typeof submission>["template_data"],
  answer: Fields,
): Fields => ({ category, ...answer, name, language });

/** The platform may report an error with a success status. It becomes 400, because 200 means accepted. */
const refusalStatus = ({ status }: Refusal) => (status < 400 ? 400 : status);

async function toRefusedReply(
  parts: TemplateParts,
  access: ChannelAccess,
  answer: Refusal,
): Promise<SubmittedDto> {
  const { error } = answer;
  return {
    externalCode: refusalStatus(answer),
    message: await explainRefusal(parts, access, answer),
    ...(error ? { platform_error: toPlatformErrorBody(error) as PlatformErrorDto } : {}),
  };
}
