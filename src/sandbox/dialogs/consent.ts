import type { Grant } from "../login/tokens.ts";

/** Something the person can open to the app. */
export interface Choice {
  id: string;
  name: string;
  details: string;
  /** Ticked when the page opens. */
  checked: boolean;
}

/** One request for consent, read and found good. */
export interface Consent {
  /** Whose token the code will give. */
  kind: Extract<Grant["kind"], "user" | "business">;
  title: string;
  permissions: readonly string[];
  /** Whether single permissions can be declined. */
  canDeclinePermissions: boolean;
  choices: readonly Choice[];
  /** What the choices are, for people. */
  choicesLabel: string;
  /** What at least one of must be chosen, for people; undefined where it makes sense without. */
  requiredChoice: string | undefined;
  /** What the app filled in beforehand, and other remarks. */
  notes: readonly string[];
  redirectUri: string;
  state: string | undefined;
  /** The parameters that the page sends along with the decision, as they came. */
  hidden: ReadonlyMap<string, string>;
}

/** The request is not one that the platform would show a dialog for. */
export class DialogError extends Error {
  override name = "DialogError";
}
