import { failDialog, runChosenSteps, runGrantedSteps, runPinSteps } from "../../domain/embed/signup-steps.ts";
import { cancelDialog, claimSteps } from "../../domain/embed/tries.ts";
import { DATABASE_ERRORS, invalidField, notFound } from "../../http/api-error.ts";
import { type Exchange, type Route, route } from "../../http/route.ts";
import type { EmbedStatus } from "../../schema/enumerations.ts";
import type { Database } from "../../store/database/database.ts";
import { type EmbedTryRow, findEmbedStatus } from "../../store/embed/tries.ts";
import { redirectUriOf } from "./dialog-url.ts";
import { requireSession, requireUsableSession } from "./find-session.ts";
import { notPossibleNow, PAGE_ROUTE, type PageParts, SESSION_ERRORS } from "./page-api.ts";
import { callback, callbackReply, choice, embedState, pinEntry, tokenParams } from "./page-schema.ts";
import { choicesOf, toState } from "./state-dto.ts";

/** The dialog's error when the person declines or closes it. */
const DECLINED = "access_denied";

const STEP_ERRORS = [...SESSION_ERRORS, "invalid_state_transition"] as const;

interface StepContext extends Exchange {
  db: Database;
}

/** The page's requests that run server steps. A failed step is part of the reply, not an error of the request. */
export function stepRoutes(parts: PageParts): Route[] {
  const { embedStates, settings } = parts;
  const redirectUri = redirectUriOf(settings);
  const signupParts = ({ db }: StepContext) => ({ ...parts, redirectUri, db });

  /** Claims the steps of a try that waits for the person. 409 when another request was first. */
  async function claimAnswered(session: EmbedTryRow, phase: "choosing" | "pin", context: StepContext) {
    const waiting = { sessionId: session.id, tryId: session.try_id as string, phase };
    const run = session.try_phase === phase ? await claimSteps(context.db, waiting, context) : undefined;
    if (!run) throw notPossibleNow(NOTHING_TO_ANSWER[phase]);
    return run;
  }

  return [
    route({
      ...PAGE_ROUTE,
      method: "post",
      path: "/embed/{token}/choice",
      operationId: "chooseSignupAsset",
      summary: "Connect the number, page or photo account that the person has chosen",
      errors: STEP_ERRORS,
      params: tokenParams,
      body: choice,
      reply: embedState,
      async handle(context) {
        const { asset_id } = context.body;
        const session = await requireUsableSession(context.db, context);
        const offered = choicesOf(session);
        if (session.try_phase === "choosing" && !offered.some((one) => one.asset_id === asset_id))
          throw invalidField("/asset_id", "asset_id must be one of the offered choices");
        await runChosenSteps(
          signupParts(context),
          await claimAnswered(session, "choosing", context),
          asset_id,
        );
        return toState(await requireSession(context.db, context));
      },
    }),
    route({
      ...PAGE_ROUTE,
      method: "post",
      path: "/embed/{token}/pin",
      operationId: "submitSignupPin",
      summary: "Register the number with the PIN that the person has entered",
      errors: STEP_ERRORS,
      params: tokenParams,
      body: pinEntry,
      reply: embedState,
      async handle(context) {
        const session = await requireUsableSession(context.db, context);
        await runPinSteps(
          signupParts(context),
          await claimAnswered(session, "pin", context),
          context.body.pin,
        );
        return toState(await requireSession(context.db, context));
      },
    }),
    route({
      ...PAGE_ROUTE,
      method: "post",
      path: "/embed/callback",
      operationId: "completeSignupDialog",
      summary: "Continue a try after the platform's dialog",
      errors: ["not_found", ...DATABASE_ERRORS, "outcome_unknown"],
      body: callback,
      reply: callbackReply,
      async handle(context) {
        const { state, code, error } = context.body;
        const embedTry = embedStates.read(state);
        if (!embedTry) throw unusableState();
        context.addLogIds({ session_id: embedTry.sessionId });
        if (error === DECLINED) {
          if (!(await cancelDialog(context.db, embedTry))) throw unusableState();
        } else {
          const run = await claimSteps(context.db, { ...embedTry, phase: "dialog" }, context);
          if (!run) throw unusableState();
          const signup = signupParts(context);
          await (code === undefined ? failDialog(signup, run) : runGrantedSteps(signup, run, code));
        }
        const status = await findEmbedStatus(context.db, embedTry.sessionId);
        if (status === undefined) throw notFound("link");
        return { status: status as EmbedStatus };
      },
    }),
  ];
}

const NOTHING_TO_ANSWER = {
  choosing: "There is nothing to choose at the moment",
  pin: "No PIN is needed at the moment",
};

const unusableState = () =>
  invalidField("/state", "The state is unknown, expired or was already used: begin another try");
