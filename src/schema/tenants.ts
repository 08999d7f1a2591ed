import { ROLES, SCOPES } from "./enumerations.ts";
import { oneOf, Type } from "./types.ts";

/** What clients, users and keys are made of; the API and the command line take the same. */

export const entityName = (example: string) =>
  Type.String({
    minLength: 1,
    maxLength: 200,
    pattern: "^\\P{Cc}*[^\\s\\p{Cc}]\\P{Cc}*$",
    "x-message": "name must have 1 to 200 characters, one of them visible and none a control character",
    examples: [example],
  });

export const email = Type.String({ format: "email", maxLength: 254, examples: ["ada@example.com"] });

export const password = Type.String({
  minLength: 8,
  maxLength: 256,
  description: "8 to 256 characters",
  examples: ["correct horse battery"],
});

export const role = oneOf(ROLES);

export const scopes = Type.Array(oneOf(SCOPES), { minItems: 1, uniqueItems: true });
