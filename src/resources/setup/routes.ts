import { readSetup } from "../../domain/tenants/setup.ts";
import { type Route, route } from "../../http/route.ts";
import { SETUP_STEPS } from "../../schema/enumerations.ts";
import { nullable, object, oneOf, Type, text } from "../../schema/types.ts";

export const setupRoutes = (): Route[] => [
  route({
    method: "get",
    path: "/api/setup",
    operationId: "getSetup",
    scope: "any_credential",
    summary: "Read which steps of the setup are done and what to do next",
    description:
      "The checklist of a new client. It is made from what Herald has stored, as long as it is kept; neither your backend nor a platform is called.",
    reply: setup,
    handle: async ({ db, caller }) => ({ data: await readSetup(db, caller.clientId, caller.scopes) }),
  }),
];

const setupStep = object(
  {
    step: oneOf(SETUP_STEPS, {
      description: [
        "What is set up:",
        "- `webhook_address`: `webhook_url` is set, and the latest attempt at it, test events included, had a 2xx answer. The attempt is searched among the last attempts of at most 500 events: the 100 newest of each status, and the 100 that have waited longest",
        "- `webhook_secret`: a webhook token is set",
        "- `channel`: one of the 10,000 newest channels is connected",
        "- `message`: a platform accepted a message, so that its status is `accepted`, `sent`, `delivered` or `read`",
        "- `event`: an event other than `webhook.test` is among the 1,000 newest events that were delivered",
        "- `terms`: the version of the terms in force is accepted",
        "- `ad_account`: one of the 10,000 newest ad accounts is active",
      ].join("\n"),
    }),
    done: Type.Boolean(),
    detail: text(
      "The address https://backend.example/hooks is set, but no event was sent to it yet.",
      "What is the case, in one sentence for a person. The address and its latest attempt need `webhooks:manage`, the id of a message `messages:send`, the version of the terms `marketing:read`; callers without the scope get the sentence without them",
    ),
    next_step: nullable(
      text(
        "Send a test event with POST /api/webhooks/test.",
        "What to do next, in one sentence for a person; null when the step is done",
      ),
    ),
    documentation: text(
      "/docs/guides/receiving#set-the-address",
      "The path of the guide section that describes the step, on this service",
    ),
  },
  { title: "SetupStepDto" },
);

const setup = object(
  { data: Type.Array(setupStep, { description: "Every step, always in the same order" }) },
  { title: "SetupDto" },
);
