import type { Scope } from "../../schema/enumerations.ts";
import type { Route } from "../route.ts";
import type { Json } from "./components.ts";

export const SECURITY_SCHEMES: Readonly<Record<"apiKey" | "userJwt", Json>> = {
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "x-svc-api-key",
    description:
      "The key of a client's backend. It has the scopes it was created with and is shown only once, when it is created. It is also accepted as `Authorization: Bearer <key>`. Send either an API key or a user token, not both.",
  },
  userJwt: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description:
      "The token of a user: `Authorization: Bearer <token>`. Its permissions follow from the user's role.",
  },
};

/** Exactly one of the two. */
export const ANY_CREDENTIAL: readonly Json[] = [{ apiKey: [] }, { userJwt: [] }];

/** The credentials that a route accepts. */
export function securityOf({ scope, consoleOnly }: Route): readonly Json[] {
  if (scope === "public") return [];
  return consoleOnly ? [{ userJwt: [] }] : ANY_CREDENTIAL;
}

/** The scopes of a route; one of them is sufficient. */
export function scopesOf({ scope }: Route): readonly Scope[] {
  if (scope === "public" || scope === "any credential") return [];
  return typeof scope === "string" ? [scope] : scope;
}

const GATE_NOTES: Readonly<Record<string, string>> = {
  terms: "The client must have accepted the terms in force.",
};

const toCodeList = (words: readonly string[]) => words.map((word) => `\`${word}\``).join(" or ");

/** The access requirements of a route, in sentences. */
export function accessNote(route: Route): string {
  const scopes = scopesOf(route);
  const sentences = [
    route.scope === "any credential" && !route.consoleOnly ? "Any valid credential is accepted." : "",
    route.consoleOnly ? "Requires a user (user token or console); API keys are rejected." : "",
    scopes.length > 0 ? `Requires the scope ${toCodeList(scopes)}.` : "",
    route.roles ? `Requires the role ${toCodeList(route.roles)}.` : "",
    GATE_NOTES[route.gate ?? ""] ?? "",
  ];
  return sentences.filter(Boolean).join(" ");
}
