import { toRequester } from "../../domain/tenants/request-actor.ts";
import { listOf } from "../../http/lists.ts";
import { PLATFORM_REFUSALS } from "../../http/platform-errors.ts";
import { type Route, route } from "../../http/route.ts";
import { listTemplates } from "./list.ts";
import { removeTemplate } from "./remove.ts";
import { deleted, deletion, listing, namespace, submission, submitted, template } from "./schema.ts";
import { submitTemplate } from "./submit.ts";
import type { TemplateRouteParts } from "./template-parts.ts";

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
