import type { Platform } from "../../../schema/enumerations.ts";
import { readBuiltFile } from "./built-files.ts";
import { type DocumentOptions, renderDocument, renderPassage } from "./document.ts";
import { TEXTS } from "./language.ts";
import type { CallbackData, PageData } from "./page-data.ts";
import { prefilledFields } from "./prefilled.ts";

export { type Language, languageOf } from "./language.ts";

interface EmbedPageOptions extends DocumentOptions {
  token: string;
  sessionId: string;
  externalRef: string | null;
  allowedOrigins: readonly string[];
  platforms: readonly Platform[];
  prefill: unknown;
}

/** The signup page. Its script shows each step and calls the routes below `/embed/{token}`. */
export function renderEmbedPage({ nonce, language, ...session }: EmbedPageOptions): string {
  const { page, prefill } = TEXTS[language];
  const data: PageData = {
    token: session.token,
    session_id: session.sessionId,
    external_ref: session.externalRef,
    allowed_origins: session.allowedOrigins,
    platforms: session.platforms,
    prefilled: prefilledFields(session.prefill, prefill),
    texts: page,
  };
  const content = renderPassage({ heading: page.start.heading, body: page.loading });
  const script = { text: readBuiltFile("signup.js"), data };
  return renderDocument({ nonce, language }, { content, script });
}

/** The page of a session that cannot be used any more. */
export function renderGonePage({
  status,
  ...options
}: DocumentOptions & { status: "completed" | "expired" | "revoked" }): string {
  const { completed, page } = TEXTS[options.language];
  const { expired, revoked } = page;
  const content = renderPassage({ completed, expired, revoked }[status]);
  return renderDocument(options, { content, errorCode: "session_gone" });
}

/** The page of a token that no session has. */
export const renderUnknownPage = (options: DocumentOptions): string =>
  renderDocument(options, {
    content: renderPassage(TEXTS[options.language].unknown),
    errorCode: "not_found",
  });

/** The page that the platform's dialog returns to. Its script posts the answer in the address and closes the window. */
export function renderCallbackPage(options: DocumentOptions): string {
  const data: CallbackData = { texts: TEXTS[options.language].callback };
  const content = renderPassage(data.texts.sending);
  return renderDocument(options, { content, script: { text: readBuiltFile("callback.js"), data } });
}
