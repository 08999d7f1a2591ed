import { asChatNumber, type ChannelAccess, openChatChannel } from "../../domain/channels/channel-access.ts";
import { asOfAnswer, rememberTemplates } from "../../domain/channels/template-cache.ts";
import type { Fields } from "../../platforms/client/body.ts";
import type { Refused } from "../../platforms/client/call.ts";
import { present } from "../../platforms/client/shapes.ts";
import { toPlatformErrorBody } from "../../platforms/errors/platform-error.ts";
import type { PlatformErrorDto } from "../../schema/platform-error.ts";
import type { Static } from "../../schema/types.ts";
import { kept, reasonOf, type TemplateParts } from "./chat-channel.ts";
import type { SubmittedDto, submission } from "./schema.ts";
import { toNews, toTemplate } from "./template-dto.ts";

export async function submitTemplate(
  parts: TemplateParts,
  clientId: string,
  { channel_id, template_data }: Static<typeof submission>,
): Promise<SubmittedDto> {
  const access = await openChatChannel(parts, clientId, channel_id);
  const number = asChatNumber(access);
  const at = asOfAnswer(new Date());
  const answer = await parts.chat().templates.create(number, template_data);
  if (answer.outcome === "refused") return refused(parts, access, answer);
  const template = toTemplate(asListed(template_data, answer.body));
  if (template)
    await kept(parts, access, () =>
      rememberTemplates(parts.db, toNews(template, { clientId, wabaId: number.wabaId, at })),
    );
  const { hsm_id: id_external, status, platform_status } = template ?? {};
  return present({
    externalCode: ACCEPTED,
    status,
    platform_status,
    id_external,
    name: template_data.name,
  }) as SubmittedDto;
}

const ACCEPTED = 200;

/** The platform names neither the template nor its language again, but may have put it into another category. */
const asListed = (
  { name, language, category }: Static<typeof submission>["template_data"],
  answer: Fields,
): Fields => ({ category, ...answer, name, language });

/** The platform may call an error a success. Then its status must not, for 200 means that it was accepted. */
const refusalStatus = ({ status }: Refused) => (status < 400 ? 400 : status);

async function refused(parts: TemplateParts, access: ChannelAccess, answer: Refused): Promise<SubmittedDto> {
  const { error } = answer;
  return {
    externalCode: refusalStatus(answer),
    message: await reasonOf(parts, access, answer),
    ...(error ? { platform_error: toPlatformErrorBody(error) as PlatformErrorDto } : {}),
  };
}
