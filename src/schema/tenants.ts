import { ROLES, SCOPES } from "./enumerations.ts";
import { oneOf, Type } from "./types.ts";

/** Fields of clients, users and API keys, shared by the API and the command line. */

export const entityName = (example: string) =>
  Type.String({
    minLength: 1,
    maxLength: 200,
    // Spaces, the first visible character, the rest: a choice of that character would take quadratic time.
    // No Unicode properties: not every tool that reads the API document knows them.
    pattern:
      "^[ \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff]*[^ \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$",
    "x-message": "name must have 1 to 200 characters, at least one visible and no control characters",
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
