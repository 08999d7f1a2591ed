/** `node api-types.js [document] [output]`: writes the TypeScript types of an API document, by default for the echo bot. */
import { readFileSync, writeFileSync } from "node:fs";
import { register } from "node:module";

// openapi-typescript needs the compiler API of TypeScript 5, which TypeScript 7 does not have.
const TYPESCRIPT_5 = `export const resolve = (name, context, next) =>
  next(name === "typescript" ? "typescript-5" : name, context);`;
register(`data:text/javascript,${encodeURIComponent(TYPESCRIPT_5)}`);

const [, , document = "dist/openapi.json", output = "examples/echo-bot/herald-api.d.ts"] = process.argv;
const { astToString, default: openapiTypes } = await import("openapi-typescript");
const types = await openapiTypes(JSON.parse(readFileSync(document, "utf8")));
writeFileSync(output, astToString(types));
