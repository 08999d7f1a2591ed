import { listOf } from "../../http/lists.ts";
import { PLATFORM_REFUSALS } from "../../http/platform-errors.ts";
import { type Route, route } from "../../http/route.ts";
import { listTemplates } from "./list.ts";
import { removeTemplate } from "./remove.ts";
import { deleted, deletion, listing, namespace, submission, submitted, template } from "./schema.ts";
import { submitTemplate } from "./submit.ts";
import type { TemplateParts } from "./template-parts.ts";

export type { TemplateParts } from "./template-parts.ts";

/** What can keep any of these from being done. The platform's refusals of a change are answers. */
const COMMON_ERRORS = [
  "not_found",
  "channel_disconnected",
  "platform_rate_limited",
  "platform_unavailable",
  "platform_timeout",
] as const;

export function templateRoutes(parts: TemplateParts): Route[] {
  return [
    route({
      method: "post",
      path: "/api/templates/submit",
      scope: "templates:manage",
      summary: "Submit a template for review",
      description:
        "The answer is 200 whatever the chat platform said of it: `externalCode` is 200 where it was accepted for review, else the platform's own status beside its `message`. What becomes of the review arrives as `template.status_updated`.",
      errors: COMMON_ERRORS,
      body: submission,
      reply: submitted,
      handle: ({ caller, body }) => submitTemplate(parts, caller.clientId, body),
    }),
    route({
      method: "post",
      path: "/api/templates/list",
      scope: "templates:manage",
      summary: "List the templates of a channel, each translation by itself",
      description: "As the chat platform has them now, in its order. Without `limit` the answer has all.",
      errors: [...COMMON_ERRORS, ...PLATFORM_REFUSALS],
      body: listing,
      reply: listOf(template, { namespace }),
      handle: ({ caller, body, cursors }) =>
        listTemplates(parts, { clientId: caller.clientId, input: body, cursors }),
    }),
    route({
      method: "delete",
      path: "/api/templates/delete",
      scope: "templates:manage",
      summary: "Delete a template, or one translation of it",
      description:
        "The answer is 200 whatever the chat platform said of it: `success` tells, and `message` why not. The name of an approved template stays taken for 30 days.",
      errors: COMMON_ERRORS,
      body: deletion,
      reply: deleted,
      handle: ({ caller, body }) => removeTemplate(parts, caller.clientId, body),
    }),
  ];
}
