import { beginTry, cancelWaitingTry, MAX_TRIES } from "../../domain/embed/tries.ts";
import { invalidField } from "../../http/api-error.ts";
import { type Route, route } from "../../http/route.ts";
import { SIGNUP_DIALOG_TTL_MS } from "../../runtime/deadlines.ts";
import { markOpened } from "../../store/embed/tries.ts";
import { dialogUrl } from "./dialog-url.ts";
import { requireSession, requireUsableSession } from "./find-session.ts";
import { notPossibleNow, PAGE_ROUTE, type PageParts, SESSION_ERRORS } from "./page-api.ts";
import { embedState, newTry, startedTry, tokenParams } from "./page-schema.ts";
import { toState } from "./state-dto.ts";

/** The page's requests that call no platform. */
export function tryRoutes({ embedStates, settings }: PageParts): Route[] {
  return [
    route({
      ...PAGE_ROUTE,
      method: "post",
      path: "/embed/{token}/loaded",
      operationId: "openSignup",
      repeatable: true,
      summary: "Report that the page was opened",
      errors: SESSION_ERRORS,
      params: tokenParams,
      async handle(context) {
        const session = await requireUsableSession(context.db, context);
        if (session.status === "pending") await markOpened(context.db, session.id);
      },
    }),
    route({
      ...PAGE_ROUTE,
      method: "get",
      path: "/embed/{token}/state",
      operationId: "getSignupState",
      summary: "Read the state of the session, also after it has ended",
      errors: SESSION_ERRORS,
      params: tokenParams,
      reply: embedState,
      handle: async (context) => toState(await requireSession(context.db, context)),
    }),
    route({
      ...PAGE_ROUTE,
      method: "post",
      path: "/embed/{token}/tries",
      operationId: "startSignupTry",
      summary: "Begin a try, which ends a running one",
      errors: [...SESSION_ERRORS, "invalid_state_transition"],
      params: tokenParams,
      body: newTry,
      status: 201,
      reply: startedTry,
      async handle(context) {
        const { platform } = context.body;
        const session = await requireUsableSession(context.db, context);
        if (!session.platforms.includes(platform))
          throw invalidField("/platform", `platform must be one of ${session.platforms.join(", ")}`);
        const tryId = await beginTry(context.db, session.id, platform);
        if (tryId === undefined) {
          await requireUsableSession(context.db, context); // it may have ended just now
          throw notPossibleNow(`This link was used for ${MAX_TRIES} tries: ask for a new link`);
        }
        const state = embedStates.issue({ sessionId: session.id, tryId }, SIGNUP_DIALOG_TTL_MS);
        return { try_id: tryId, url: dialogUrl(settings, { platform, state, prefill: session.prefill }) };
      },
    }),
    route({
      ...PAGE_ROUTE,
      method: "post",
      path: "/embed/{token}/cancel",
      operationId: "cancelSignupTry",
      repeatable: true,
      summary: "End the try if it waits for the person",
      errors: SESSION_ERRORS,
      params: tokenParams,
      reply: embedState,
      async handle(context) {
        const { id: sessionId, try_id: tryId } = await requireUsableSession(context.db, context);
        if (tryId !== null) await cancelWaitingTry(context.db, { sessionId, tryId });
        return toState(await requireSession(context.db, context));
      },
    }),
  ];
}
