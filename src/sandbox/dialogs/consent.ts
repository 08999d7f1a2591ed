import type { Grant } from "../login/tokens.ts";

/** An asset that the person can grant to the app. */
export interface Choice {
  id: string;
  name: string;
  details: string;
  /** Ticked when the page opens. */
  checked: boolean;
}

/** A validated request for consent. */
export interface Consent {
  /** The kind of token that the code gives. */
  kind: Extract<Grant["kind"], "user" | "business">;
  title: string;
  permissions: readonly string[];
  canDeclinePermissions: boolean;
  choices: readonly Choice[];
  /** Heading of the choices. */
  choicesLabel: string;
  /** Name of the asset of which at least one must be chosen; undefined when none is required. */
  requiredChoice: string | undefined;
  /** Values that the app prefilled, and other remarks. */
  notes: readonly string[];
  redirectUri: string;
  state: string | undefined;
  /** The request's parameters, which the form sends back unchanged. */
  hidden: ReadonlyMap<string, string>;
}

/** A request for which the platform would not show a dialog. */
export class DialogError extends Error {
  override name = "DialogError";
}
