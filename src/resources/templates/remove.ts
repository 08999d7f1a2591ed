import { openChatChannel, toChatNumber } from "../../domain/channels/channel-access.ts";
import type { Requester } from "../../domain/tenants/request-actor.ts";
import { requireOpened } from "../../http/channel-errors.ts";
import type { Static } from "../../schema/types.ts";
import { deleteTemplates } from "../../store/channels/templates.ts";
import type { DeletedDto, deletion } from "./schema.ts";
import { explainRefusal, type TemplateParts, tryCacheWrite } from "./template-parts.ts";

export async function removeTemplate(
  parts: TemplateParts,
  requester: Requester,
  { channel_id, template_name: name, hsm_id: hsmId }: Static<typeof deletion>,
): Promise<DeletedDto> {
  const access = requireOpened(await openChatChannel(parts, requester, channel_id));
  const number = toChatNumber(access);
  const answer = await parts.platforms.chat.templates.remove(number, { name, hsmId });
  const { status: status_code } = answer;
  if (answer.outcome === "refused")
    return { success: false, status_code, message: await explainRefusal(parts, access, answer) };
  if (String(answer.body.success) === "false")
    return { success: false, status_code, message: "The platform did not delete the template" };
  const { wabaId } = number;
  await tryCacheWrite(parts, access, () =>
    deleteTemplates(parts.db, requester.clientId, { wabaId, name, hsmId }),
  );
  return { success: true, status_code };
}
