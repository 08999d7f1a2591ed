import type { Platform } from "../../../../schema/enumerations.ts";
import type { EmbedStateDto } from "../../schema.ts";
import type { PageTexts } from "../page-data.ts";

/** The answer of `GET /embed/{token}/state`, without what the page already knows. */
export type EmbedState = Omit<EmbedStateDto, "session_id" | "external_ref" | "platforms">;

/** The running try: `dialog` waits for the popup, `connecting` for the server, the others for the person. */
type Try = NonNullable<EmbedState["try"]>;

/** A number, page or photo account that the person can connect. */
export type Choice = NonNullable<EmbedState["choices"]>[number];

export type Failure = NonNullable<EmbedState["error"]>;

/** True when the session can no longer change. */
export const isFinal = ({ status }: EmbedState): boolean =>
  status === "completed" || status === "expired" || status === "revoked";

export type Outcome = "completed" | "failed" | "cancelled";

/** Returns how the try ended; undefined while it or another one runs, and when the session has ended without it. */
function outcomeOf(tryId: string | undefined, { status, ...state }: EmbedState): Outcome | undefined {
  if (status === "completed") return "completed";
  if (tryId === undefined || state.try !== null) return undefined;
  if (status === "failed") return "failed";
  return status === "opened" ? "cancelled" : undefined;
}

/** What the page knows of the session and its latest try. */
export interface Progress {
  /** As the person sees it. */
  state?: EmbedState;
  tryId?: string | undefined;
  /** The try whose window the person has closed. */
  closedTryId?: string;
  /** How the try ended, as the host knows it. A try whose window was closed can still go on. */
  reported?: Outcome | undefined;
}

/** Takes over a state of the server, and returns the outcome that the host does not know yet. */
export function advance(progress: Progress, read: EmbedState): [Progress, Outcome | undefined] {
  const state = withoutClosedTry(read, progress.closedTryId);
  const outcome = outcomeOf(progress.tryId, state);
  const isKnown = outcome === progress.reported;
  return [{ ...progress, state, tryId: read.try?.try_id, reported: outcome }, isKnown ? undefined : outcome];
}

/** A try in its dialog is over for the person who has closed the window. */
const withoutClosedTry = (state: EmbedState, closedTryId: string | undefined): EmbedState =>
  state.try?.phase === "dialog" && state.try.try_id === closedTryId ? { ...state, try: null } : state;

export type Notice = keyof PageTexts["notices"];

/** The content of the page, without its texts. */
export type View =
  | { name: "loading" | "connecting" | "expired" | "revoked" }
  | { name: "start"; notice: Notice | undefined }
  | { name: "failed"; failure: Failure; platform: Platform | undefined }
  | { name: "waiting"; platform: Platform }
  | { name: "blocked"; url: string }
  | { name: "choosing"; platform: Platform; choices: readonly Choice[] }
  | { name: "pin"; triesLeft: number; number: Choice | undefined }
  | { name: "completed"; account: string | undefined };

/** The part of the state that only this page has: it is lost at a reload. */
export interface LocalState {
  /** The platform of a try that is being started. */
  starting?: Platform;
  /** A choice or PIN is on its way: the former question must not come back meanwhile. */
  isAnswering?: boolean;
  /** The address of the dialog, when the browser blocked its window. */
  blockedUrl?: string;
  notice?: Notice | undefined;
  /** The window of the dialog may be closed. */
  isWindowLost?: boolean;
}

export function viewOf(state: EmbedState | undefined, local: LocalState): View {
  if (!state) return { name: "loading" };
  switch (state.status) {
    case "completed":
      return { name: "completed", account: accountOf(state) };
    case "expired":
    case "revoked":
      return { name: state.status };
    default:
      return openView(state, local);
  }
}

function openView(state: EmbedState, local: LocalState): View {
  if (local.starting) return { name: "waiting", platform: local.starting };
  if (local.isAnswering) return { name: "connecting" };
  if (state.try) return viewOfTry(state.try, state, local);
  if (local.notice === undefined && state.status === "failed" && state.error)
    return { name: "failed", failure: state.error, platform: state.failed_platform };
  return { name: "start", notice: local.notice };
}

function viewOfTry({ phase, platform }: Try, state: EmbedState, { blockedUrl }: LocalState): View {
  switch (phase) {
    case "dialog":
      return blockedUrl === undefined ? { name: "waiting", platform } : { name: "blocked", url: blockedUrl };
    case "connecting":
      return { name: "connecting" };
    case "choosing":
      return { name: "choosing", platform, choices: state.choices ?? [] };
    case "pin":
      return { name: "pin", triesLeft: state.pin?.tries_left ?? 0, number: state.pin?.number };
  }
}

/** The name and number of the connected channel. */
function accountOf({ result }: EmbedState): string | undefined {
  const { display_name: name, display_phone_number: number } = result?.channel ?? {};
  return [name, number].filter(Boolean).join(", ") || undefined;
}
