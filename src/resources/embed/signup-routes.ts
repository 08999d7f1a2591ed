import { DIALOG_PERMISSIONS } from "../../domain/embed/signup-platforms.ts";
import { failDialog, runChosenSteps, runGrantedSteps, runPinSteps } from "../../domain/embed/signup-steps.ts";
import type { SignupParts } from "../../domain/embed/tries.ts";
import { beginTry, cancelDialog, cancelWaitingTry, claimSteps, MAX_TRIES } from "../../domain/embed/tries.ts";
import { ApiError, DATABASE_ERRORS, invalidField, notFound } from "../../http/api-error.ts";
import { type Exchange, type Route, route } from "../../http/route.ts";
import type { Config } from "../../runtime/config/config.ts";
import { SIGNUP_DIALOG_TTL_MS } from "../../runtime/deadlines.ts";
import { withQuery } from "../../runtime/http/addresses.ts";
import type { EmbedStatus, Platform } from "../../schema/enumerations.ts";
import type { Static } from "../../schema/types.ts";
import type { EmbedStates, EmbedTry } from "../../security/signatures-and-states.ts";
import type { Database } from "../../store/database/database.ts";
import { type EmbedTryRow, findSessionOfTry, markOpened } from "../../store/embed/tries.ts";
import {
  callback,
  callbackReply,
  choice,
  embedState,
  newTry,
  pinEntry,
  startedTry,
  tokenParams,
} from "./schema.ts";
import {
  choicesOf,
  goneStatusOf,
  PAGE_ROUTE,
  requireSession,
  requireUsableSession,
  sessionGone,
  toState,
} from "./session.ts";

type DialogSettings = Pick<
  Config,
  "SIGNUP_DIALOG_URL" | "SIGNUP_CONFIG_ID" | "PLATFORM_APP_ID" | "PUBLIC_URL"
>;

export interface PageParts extends Omit<SignupParts, "redirectUri" | "db"> {
  embedStates: EmbedStates;
  settings: DialogSettings;
}

/** The requests that the signup page makes. */
export const signupRoutes = (parts: PageParts): Route[] => [...tryRoutes(parts), ...stepRoutes(parts)];

/** Errors of every route that reads a session. */
const SESSION_ERRORS = ["session_gone", ...DATABASE_ERRORS, "outcome_unknown"] as const;

const notPossibleNow = (message: string) => new ApiError("invalid_state_transition", message);

/** The page's requests that call no platform. */
function tryRoutes({ embedStates, settings }: PageParts): Route[] {
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

/** The dialog's error when the person declines or closes it. */
const DECLINED = "access_denied";

const STEP_ERRORS = [...SESSION_ERRORS, "invalid_state_transition"] as const;

interface StepContext extends Exchange {
  db: Database;
}

type DialogAnswer = Pick<Static<typeof callback>, "code" | "error">;

/** The page's requests that run server steps. A failed step is part of the reply, not an error of the request. */
function stepRoutes(parts: PageParts): Route[] {
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

  /** Takes over the dialog's answer. False when the try is no longer in its dialog. */
  async function continueTry(context: StepContext, embedTry: EmbedTry, { code, error }: DialogAnswer) {
    if (error === DECLINED) return cancelDialog(context.db, embedTry);
    const run = await claimSteps(context.db, { ...embedTry, phase: "dialog" }, context);
    if (!run) return false;
    const signup = signupParts(context);
    await (code === undefined ? failDialog(signup, run) : runGrantedSteps(signup, run, code));
    return true;
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
      errors: ["not_found", ...SESSION_ERRORS],
      body: callback,
      reply: callbackReply,
      async handle(context) {
        const embedTry = embedStates.read(context.body.state);
        if (!embedTry) throw unusableState();
        context.addLogIds({ session_id: embedTry.sessionId });
        const isContinued = await continueTry(context, embedTry, context.body);
        const session = await findSessionOfTry(context.db, embedTry);
        if (!session) throw notFound("link");
        if (isContinued) return { status: session.status as EmbedStatus };
        const gone = goneStatusOf(session);
        throw gone === undefined || gone === "completed" ? unusableState() : sessionGone(gone);
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

/** Where the platform's dialog leads back. The exchange of the code must repeat it exactly. */
const redirectUriOf = ({ PUBLIC_URL }: Pick<Config, "PUBLIC_URL">): string => `${PUBLIC_URL}/embed/callback`;

interface DialogInput {
  platform: Platform;
  state: string;
  /** JSON. */
  prefill: string | null;
}

/** The platform's dialog for one try. The chat platform takes a configuration instead of permissions. */
function dialogUrl(settings: DialogSettings, { platform, state, prefill }: DialogInput): string {
  const common = {
    client_id: settings.PLATFORM_APP_ID,
    response_type: "code",
    redirect_uri: redirectUriOf(settings),
    state,
  };
  if (platform !== "chatapp")
    return withQuery(settings.SIGNUP_DIALOG_URL, { ...common, scope: DIALOG_PERMISSIONS.join(",") });
  return withQuery(settings.SIGNUP_DIALOG_URL, {
    ...common,
    config_id: settings.SIGNUP_CONFIG_ID,
    override_default_response_type: "true",
    extras: `{"setup":${prefill ?? "{}"}}`,
  });
}
