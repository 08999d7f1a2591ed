import type { SignedStates } from "./signed-states.ts";

/** A try of an embedded signup session. */
export interface EmbedTry {
  sessionId: string;
  tryId: string;
}

/** States of signup dialogs: they name a try, which the signature binds. The try itself can use its state only once. */
export interface EmbedStates {
  issue(of: EmbedTry, ttlMs: number): string;
  /** Undefined for a state that was not issued here or has expired. */
  read(text: string): EmbedTry | undefined;
}

/** States have the form `session.try.signed state`. */
export function createEmbedStates(states: SignedStates): EmbedStates {
  return {
    issue: ({ sessionId, tryId }, ttlMs) =>
      `${sessionId}.${tryId}.${states.issue([sessionId, tryId], ttlMs).text}`,
    read(text) {
      const [sessionId = "", tryId = "", ...signed] = text.split(".");
      const { outcome } = states.read(signed.join("."), [sessionId, tryId]);
      return outcome === "valid" ? { sessionId, tryId } : undefined;
    },
  };
}
