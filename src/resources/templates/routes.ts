import { pauseForTemplate } from "../../domain/batches/change-batch.ts";
import { type ChannelAccess, openChatChannel, toChatNumber } from "../../domain/channels/channel-access.ts";
import { answerAsOf, cacheTemplates } from "../../domain/channels/template-cache.ts";
import { type Requester, toRequester } from "../../domain/tenants/audit-actors.ts";
import { PLATFORM_REFUSALS, requireOpened } from "../../http/api-error.ts";
import { listOf } from "../../http/lists.ts";
import { type Route, route } from "../../http/route.ts";
import { type Fields, omitNullish } from "../../platforms/bodies.ts";
import type { Refusal } from "../../platforms/client/call.ts";
import { toPlatformErrorBody } from "../../platforms/errors/verdicts.ts";
import type { PlatformErrorDto } from "../../schema/stored-errors.ts";
import type { Static } from "../../schema/types.ts";
import { deleteTemplates } from "../../store/channels/templates.ts";
import { listTemplates } from "./list.ts";
import {
  explainRefusal,
  type TemplateParts,
  type TemplateRouteParts,
  toTemplate,
  toTemplateUpdates,
  tryCacheWrite,
} from "./platform-answers.ts";
import {
  type DeletedDto,
  deleted,
  deletion,
  listing,
  namespace,
  type SubmittedDto,
  submission,
  submitted,
  template,
} from "./schema.ts";

/**
 * Error codes of every template route. When the platform rejects a change, the response is 200 with its
 * reason.
 */
const COMMON_ERRORS = [
  "not_found",
  "channel_disconnected",
  "platform_rate_limited",
  "platform_unavailable",
  "platform_timeout",
] as const;

export function templateRoutes(parts: TemplateRouteParts): Route[] {
  return [
    route({
      method: "post",
      path: "/api/templates/submit",
      operationId: "submitTemplate",
      scope: "templates:manage",
      summary: "Submit a template for review",
      description:
        "The response is 200 even if the chat platform rejects the template. `externalCode` is 200 if it was accepted for review; otherwise it is the platform's status, and `message` has the reason. The result of the review arrives as the event `template.status_updated`.",
      errors: COMMON_ERRORS,
      body: submission,
      reply: submitted,
      handle: (context) => submitTemplate({ ...parts, db: context.db }, toRequester(context), context.body),
    }),
    route({
      method: "post",
      path: "/api/templates/list",
      operationId: "listTemplates",
      scope: "templates:manage",
      summary: "List the templates of a channel, one entry per translation",
      description:
        "Reads the templates from the chat platform now, in its order. Without `limit` the response contains all of them.",
      errors: [...COMMON_ERRORS, ...PLATFORM_REFUSALS],
      repeatable: true,
      body: listing,
      reply: listOf(template, { namespace }),
      handle: (context) =>
        listTemplates(
          { ...parts, db: context.db },
          { requester: toRequester(context), input: context.body, cursors: context.cursors },
        ),
    }),
    route({
      method: "delete",
      path: "/api/templates/delete",
      operationId: "deleteTemplate",
      scope: "templates:manage",
      summary: "Delete a template or one of its translations",
      description:
        "The response is 200 even if the chat platform rejects the deletion: `success` is then false, and `message` has the reason. The name of an approved template stays reserved for 30 days.",
      errors: COMMON_ERRORS,
      body: deletion,
      reply: deleted,
      handle: (context) => removeTemplate({ ...parts, db: context.db }, toRequester(context), context.body),
    }),
  ];
}

async function submitTemplate(
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

async function removeTemplate(
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
  await tryCacheWrite(parts, access, async () => {
    const { clientId } = requester;
    const stored = await deleteTemplates(parts.db, clientId, { wabaId, name, hsmId });
    const languages = hsmId === undefined ? null : stored;
    await pauseForTemplate(parts, clientId, { wabaId, name, languages });
  });
  return { success: true, status_code };
}
