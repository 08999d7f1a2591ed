/**
 * Fails when a regular expression may take more than linear time or is built from anything but constants. Checks the
 * expressions and patterns in the sources, the formats that they take from ajv-formats, and the patterns in the OpenAPI
 * document dist/openapi.json. With folders as arguments, checks only their files.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "acorn";
import formats from "ajv-formats/dist/formats.js";
import { transform } from "esbuild";
import { check } from "recheck";

const SOURCE_FOLDERS = ["bin", "src", "workers", "sdk/src", "examples"];

/** Files with a `pattern` that is not constant, and the reason why that is safe. */
const COMPUTED_PATTERNS = {
  "src/http/pipeline.ts": "a route's path, not a regular expression",
  "src/schema/types.ts": "the pattern of an id with its prefix, which the OpenAPI document contains",
};

/** Formats that src/schema/validate.ts defines itself. */
const OWN_FORMATS = ["uuid", "uri"];

/** The constants in ajv-formats that a format uses which is a function. */
const FORMAT_CONSTANTS = { "date-time": ["DATE", "TIME", "DATE_TIME_SEPARATOR"], date: ["DATE"] };

/** Methods that build a regular expression from a string. */
const SEARCH_METHODS = ["match", "matchAll", "search"];

/** An expression that needs longer counts as not linear. */
const CHECK_TIMEOUT_MS = 60_000;

const problems = [];
/** The places of each regular expression, by its source and flags. */
const found = new Map();

function add(place, source, flags) {
  const key = JSON.stringify([source, flags]);
  found.set(key, [...(found.get(key) ?? []), place]);
}

const parseModule = (code) => parse(code, { ecmaVersion: "latest", sourceType: "module" });

function* nodesOf(value, parent) {
  if (typeof value !== "object" || value === null) return;
  const isNode = typeof value.type === "string";
  if (isNode) yield { node: value, parent };
  for (const child of Object.values(value)) yield* nodesOf(child, isNode ? value : parent);
}

/** Returns the values of a module's constants by name. Takes upper case only: a parameter may share another name. */
const constantsOf = (program) =>
  new Map(
    program.body
      .map((statement) => statement.declaration ?? statement)
      .flatMap(({ kind, declarations }) => (kind === "const" ? declarations : []))
      .filter(({ id }) => /^[A-Z_]+$/.test(id.name))
      .map(({ id, init }) => [id.name, init]),
  );

/** Returns the text of a string that consists of constants; undefined for everything else. */
function textOf(node, constants) {
  if (typeof node?.value === "string") return node.value;
  if (node?.type === "Identifier") return textOf(constants.get(node.name), new Map());
  if (node?.type !== "TemplateLiteral") return undefined;
  const inserted = node.expressions.map((expression) => textOf(expression, constants));
  if (inserted.includes(undefined)) return undefined;
  return node.quasis.map(({ value }, index) => value.cooked + (inserted[index] ?? "")).join("");
}

/** Accepts `x instanceof RegExp`, and calls with constants. */
function readConstructor(file, { node, parent }, constants) {
  if (parent.operator === "instanceof") return;
  const [source, flags] = (parent.callee === node ? parent.arguments : []).map((argument) =>
    textOf(argument, constants),
  );
  const isConstant = source !== undefined && (flags !== undefined || parent.arguments.length === 1);
  if (isConstant) add(file, source, flags ?? "");
  else problems.push(`${file} builds a regular expression from something that is not constant`);
}

function readCall(file, { callee, arguments: [argument] }, constants) {
  const method = callee.property?.name ?? callee.property?.value;
  if (!SEARCH_METHODS.includes(method) || argument?.regex || constants.get(argument?.name)?.regex) return;
  problems.push(`${file} calls ${method}() with something that is not a constant regular expression`);
}

function readProperty(file, { key, value }, constants) {
  const [name, text] = [key.name ?? key.value, textOf(value, constants)];
  if (name === "format" && text in formats.fullFormats) addFormat(text);
  if (name === "pattern" && text !== undefined) add(file, text, "u");
  if (name === "pattern" && text === undefined && !(file in COMPUTED_PATTERNS))
    problems.push(`${file} has a pattern that is not constant`);
}

function addFormat(name) {
  if (OWN_FORMATS.includes(name)) return;
  const place = `the format ${name} of ajv-formats`;
  const format = formats.fullFormats[name];
  if (format === true) return;
  if (format instanceof RegExp) return add(place, format.source, format.flags);
  const constants = constantsOf(
    parseModule(readFileSync("node_modules/ajv-formats/dist/formats.js", "utf8")),
  );
  const expressions = (FORMAT_CONSTANTS[name] ?? [name]).map((constant) => constants.get(constant)?.regex);
  if (expressions.includes(undefined))
    problems.push(`${place} is a function whose expressions are not known`);
  else for (const { pattern, flags } of expressions) add(place, pattern, flags);
}

async function readSource(file) {
  const loader = file.endsWith(".tsx") ? "tsx" : "ts";
  const { code } = await transform(readFileSync(file, "utf8"), { loader, target: "esnext" });
  const program = parseModule(code);
  const constants = constantsOf(program);
  for (const { node, parent } of nodesOf(program)) {
    if (node.regex) add(file, node.regex.pattern, node.regex.flags);
    if (node.type === "Identifier" && node.name === "RegExp")
      readConstructor(file, { node, parent }, constants);
    if (node.type === "CallExpression") readCall(file, node, constants);
    if (node.type === "Property" && parent.type === "ObjectExpression") readProperty(file, node, constants);
  }
}

function readDocument(value) {
  if (typeof value !== "object" || value === null) return;
  const keys = Object.keys(value.patternProperties ?? {});
  for (const pattern of [value.pattern, ...keys])
    if (typeof pattern === "string") add("the OpenAPI document", pattern, "u");
  for (const child of Object.values(value)) readDocument(child);
}

/** Uses automata, which prove that an expression is linear; lookarounds and back references have none. */
async function checkExpression([key, places]) {
  const [source, flags] = JSON.parse(key);
  const { status, complexity, attack, error } = await check(source, flags, {
    checker: "automaton",
    timeout: CHECK_TIMEOUT_MS,
  });
  if (status === "safe") return;
  const reason = error
    ? `cannot be checked (${error.kind})`
    : `takes ${complexity.type} time on ${attack.pattern}`;
  problems.push(`/${source}/${flags} ${reason}, in ${[...new Set(places)].join(", ")}`);
}

const folders = process.argv.slice(2);
const files = (folders.length > 0 ? folders : SOURCE_FOLDERS).flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(?:js|tsx?)$/.test(name))
    .map((name) => join(folder, name)),
);
await Promise.all(files.map(readSource));
if (folders.length === 0) readDocument(JSON.parse(readFileSync("dist/openapi.json", "utf8")));
// The first check starts the checker's process; checks that begin before it runs would start one each.
const [first, ...others] = [...found].map((entry) => () => checkExpression(entry));
await first?.();
await Promise.all(others.map((run) => run()));
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;
