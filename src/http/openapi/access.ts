import type { Scope } from "../../schema/enumerations.ts";
import type { Route } from "../route.ts";
import type { Json } from "./components.ts";

export const SECURITY_SCHEMES: Readonly<Record<"userJwt" | "apiKey", Json>> = {
  userJwt: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description:
      "The token of a person, who has a role: `Authorization: Bearer <token>`. In the console's own pages the cookie `herald_console` takes its place, together with the header `x-herald-console: 1`.",
  },
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "x-svc-api-key",
    description:
      "The key of a backend, which has scopes. Shown once, when it is made. Send this or a user token, not both.",
  },
};

/** One of them, never both. */
export const ANY_CREDENTIAL: readonly Json[] = [{ userJwt: [] }, { apiKey: [] }];

/** The credentials that are taken. */
export function securityOf({ scope, consoleOnly }: Route): readonly Json[] {
  if (scope === "public") return [];
  return consoleOnly ? [{ userJwt: [] }] : ANY_CREDENTIAL;
}

/** The scopes of which one is needed. */
export function scopesOf({ scope }: Route): readonly Scope[] {
  if (scope === "public" || scope === "any credential") return [];
  return typeof scope === "string" ? [scope] : scope;
}

const GATE_NOTES: Readonly<Record<string, string>> = {
  terms: "The client must have accepted the terms in force.",
};

const toCodeList = (words: readonly string[]) => words.map((word) => `\`${word}\``).join(" or ");

/** Who may ask, in sentences. */
export function accessNote(route: Route): string {
  const scopes = scopesOf(route);
  const sentences = [
    route.scope === "any credential" && !route.consoleOnly ? "Any credential will do." : "",
    route.consoleOnly ? "For people, with a user token or in the console, not for API keys." : "",
    scopes.length > 0 ? `Needs the scope ${toCodeList(scopes)}.` : "",
    route.roles ? `Needs the role ${toCodeList(route.roles)}.` : "",
    GATE_NOTES[route.gate ?? ""] ?? "",
  ];
  return sentences.filter(Boolean).join(" ");
}
