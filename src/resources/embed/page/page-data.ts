import type { Platform, SignupErrorCode, SignupStep } from "../../../schema/enumerations.ts";

/** The data that the server gives to the script of the signup page. */
export interface PageData {
  token: string;
  session_id: string;
  external_ref: string | null;
  allowed_origins: readonly string[];
  platforms: readonly Platform[];
  prefilled: readonly PrefilledField[];
  texts: PageTexts;
}

/** A value that the client prefilled, with its label. */
export interface PrefilledField {
  label: string;
  value: string;
}

/** The data that the server gives to the script of the popup. */
export interface CallbackData {
  texts: CallbackTexts;
}

/** A heading and the sentences below it. */
export interface Passage {
  heading: string;
  body: string;
}

/** The texts that the signup page's script shows. The page contains those of one language. */
export interface PageTexts {
  start: Passage & { prefill: string; prefillUse: string };
  platforms: Record<Platform, { name: string; action: string }>;
  progress: { label: string; access: string; connect: string; done: string };
  waiting: Passage & { status: string; closed: string; reopen: string; iClosed: string };
  blocked: Passage & { open: string; hint: string };
  connecting: Passage & { status: string };
  choosing: { heading: Record<Platform, string>; body: string; confirm: string };
  pin: Passage & {
    label: string;
    confirm: string;
    format: string;
    wrong: string;
    left: Record<string, string>;
  };
  completed: Passage;
  failed: {
    heading: string;
    steps: Record<SignupStep, string>;
    codes: Partial<Record<SignupErrorCode, string>>;
    retry: string;
    details: string;
  };
  notices: { cancelled: string; unavailable: string; tooMany: string };
  cancel: string;
  loading: string;
  offline: string;
  expired: Passage;
  revoked: Passage;
}

/** The texts of the popup that the platform's dialog returns to. */
export interface CallbackTexts {
  sending: Passage;
  done: Passage;
  refused: Passage;
  ended: Passage;
  unreachable: Passage;
}

export interface Texts {
  /** The title of every page. */
  title: string;
  noScript: string;
  prefill: Record<"name" | "email" | "website" | "displayName" | "category", string>;
  page: PageTexts;
  callback: CallbackTexts;
  completed: Passage;
  unknown: Passage;
}
