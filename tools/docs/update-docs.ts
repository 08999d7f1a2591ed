import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Command, usageOf as optionUsageOf } from "../../src/commands/command-line/command.ts";
import { loadAllCommands } from "../../src/commands/verbs.ts";
import { CONFIG, ROUTES, resolveAll } from "../../src/composition/tokens.ts";
import { registerDescribedWeb } from "../../src/composition/web/server.ts";
import { describeEndpoint } from "../../src/delivery/webhook-address.ts";
import { ERROR_CODES, statusOf } from "../../src/http/api-error.ts";
import { ERROR_NOTES } from "../../src/http/openapi/error-notes.ts";
import type { Route } from "../../src/http/route.ts";
import { exampleSettings, settingsRows } from "../../src/runtime/config/settings.ts";
import { LOG_EVENTS } from "../../src/runtime/log-events.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { CAUSE_SECTIONS, type CauseDefinition } from "../../src/schema/causes/cause-definition.ts";
import { AWAITED_OUTCOME, CAUSES, MESSAGE_ERRORS, NO_REASON } from "../../src/schema/causes/causes.ts";
import { EVENT_KEYS, EVENT_TYPES, type EventType, SCOPES } from "../../src/schema/enumerations.ts";
import { EVENT_MEANINGS, EVENT_PAYLOADS } from "../../src/schema/events/event.ts";
import { DELIVERY_ERRORS, SIGNUP_ERRORS } from "../../src/schema/stored-errors.ts";
import type { TObject, TSchema } from "../../src/schema/types.ts";
import { code, documentationPages, fillGenerated, type GeneratedParts, markdownTable } from "./markdown.ts";
import { sandboxTables } from "./sandbox-tables.ts";

export async function generateParts(): Promise<GeneratedParts> {
  const { routes, config } = resolveAll(registerDescribedWeb(), { routes: ROUTES, config: CONFIG });
  return new Map([...(await referenceTables(routes)), ...(await sandboxTables(config))]);
}

/** The tables of the documentation that describe the service itself. */
const referenceTables = async (routes: readonly Route[]): Promise<GeneratedParts> =>
  new Map([
    ["settings", settingsTable()],
    ["log-events", logEventsTable()],
    ["metrics", metricsTable()],
    ["commands", commandsTable(await loadAllCommands())],
    ["routes", routesTable(routes)],
    ["scopes", scopesTable(routes)],
    ["error-codes", errorCodesTable()],
    ["causes", causesTables()],
    ["message-errors", storedErrorsTable("code", MESSAGE_ERRORS)],
    ["delivery-errors", storedErrorsTable("`last_error`", DELIVERY_ERRORS)],
    ["signup-errors", storedErrorsTable("`error.code`", SIGNUP_ERRORS)],
    ["event-types", eventTypesTable()],
    ["event-catalogue", eventCatalogue()],
  ]);

/** The generated files as they should be: the pages with their tables, and `.env.example`. */
export function generatedFiles(root: string, parts: GeneratedParts): Map<string, string> {
  const pages = documentationPages(root).map(
    (page) => [page, fillGenerated(readFileSync(join(root, page), "utf8"), parts)] as const,
  );
  return new Map([...pages, [".env.example", exampleSettings()]]);
}

/** Writes the generated files and returns the names of those that changed. */
export function updateDocs(root: string, parts: GeneratedParts): string[] {
  const isChanged = ([file, text]: [string, string]) => readOrEmpty(join(root, file)) !== text;
  const changed = [...generatedFiles(root, parts)].filter(isChanged);
  for (const [file, text] of changed) writeFileSync(join(root, file), text);
  return changed.map(([file]) => file);
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

const settingsTable = () =>
  markdownTable(
    ["name", "default", "meaning"],
    settingsRows().map(([name = "", ...cells]) => [code(name), ...cells]),
  );

const logEventsTable = () =>
  markdownTable(
    ["event", "meaning"],
    Object.entries(LOG_EVENTS).map(([event, meaning]) => [code(event), meaning]),
  );

/** prom-client keeps the label names of a metric, but its types do not show them. */
interface LabelledMetric {
  name: string;
  help: string;
  type: { toString(): string };
  labelNames?: readonly string[];
}

function metricsTable(): string {
  const metrics = createMetrics("docs").registry.getMetricsAsArray() as unknown as LabelledMetric[];
  const rows = metrics.map(({ name, type, labelNames = [], help }) => [
    code(name),
    String(type),
    labelNames.map(code).join(", "),
    help,
  ]);
  return markdownTable(["metric", "type", "labels", "meaning"], rows);
}

function usageOf({ name, options }: Command): string {
  const flags = Object.entries(options).map(([optionName, option]) => {
    const usage = optionUsageOf(optionName, option);
    return option.required ? usage : `[${usage}]`;
  });
  return code(["herald", name, ...flags].join(" "));
}

const commandsTable = (commands: readonly Command[]) =>
  markdownTable(
    ["command", "effect"],
    commands.map((command) => [usageOf(command), command.summary]),
  );

const RESOURCES_FOLDER = "src/resources";

/**
 * Finds the file of a route by its operationId, or by its path where the operationId is composed. Undefined for the guides, whose
 * paths are composed too.
 */
function createSourceLookup(root: string): (route: Route) => string | undefined {
  const files = readdirSync(join(root, RESOURCES_FOLDER), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .sort()
    .map((file) => join(RESOURCES_FOLDER, file))
    .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }))
    .filter(({ text }) => /\b(?:route|adObjectRoutes|builtPageRoutes)\(/.test(text)); // others may name a path too
  const find = (literal: string) => files.find(({ text }) => text.includes(JSON.stringify(literal)))?.file;
  return ({ operationId, path }) =>
    (operationId && find(operationId)) ?? find(path) ?? find(path.replace(/\/\{[^/]*\}$/, ""));
}

const describeCallers = ({ scope, consoleOnly, roles }: Route): string => {
  if (!consoleOnly) return [scope].flat().join(" or ");
  return roles ? `console: ${roles.join(", ")}` : "console";
};

function routesTable(routes: readonly Route[]): string {
  const sourceOf = createSourceLookup(packageRoot());
  const rows = routes.flatMap((route) => {
    const source = sourceOf(route);
    if (!source && route.operationId) throw new Error(`the file of ${route.operationId} is not found`);
    if (!source) return [];
    const file = `[${source.slice(RESOURCES_FOLDER.length + 1)}](../../${source})`;
    return [[route.method.toUpperCase(), code(route.path), describeCallers(route), route.gate ?? "", file]];
  });
  return markdownTable(["method", "path", "scope", "gate", "file"], rows);
}

function scopesTable(routes: readonly Route[]): string {
  const rows = SCOPES.map((scope) => [
    code(scope),
    routes
      .filter((route) => [route.scope].flat().includes(scope))
      .map(({ method, path }) => code(`${method.toUpperCase()} ${path}`))
      .join(", "),
  ]);
  return markdownTable(["scope", "endpoints"], rows);
}

const errorCodesTable = () =>
  markdownTable(
    ["status", "error", "when"],
    ERROR_CODES.map((error) => [String(statusOf(error)), code(error), ERROR_NOTES[error].when]),
  );

const storedErrorsTable = (head: string, errors: Readonly<Record<string, string>>) =>
  markdownTable(
    [head, "meaning"],
    Object.entries(errors).map(([error, meaning]) => [code(error), meaning]),
  );

type CauseRow = [cause: string, definition: CauseDefinition];

/** The tables of all causes, each with the heading of its section. */
function causesTables(): string {
  const causes: CauseRow[] = [
    ...Object.entries<CauseDefinition>(CAUSES),
    ["outcome_unknown", AWAITED_OUTCOME],
    ["platform_error", NO_REASON],
  ];
  return Object.entries(CAUSE_SECTIONS)
    .map(([section, heading]) => {
      const rows = causes.filter(([, definition]) => definition.section === section).map(toCauseCells);
      return `### ${heading}\n\n${markdownTable(["cause", "code", "verdict", "who acts", "meaning", "what to do"], rows)}`;
    })
    .join("\n\n");
}

const toCauseCells = ([cause, { codes = [], verdict, whoActs, summary, nextStep }]: CauseRow): string[] => [
  code(cause),
  codes.map((each) => code(typeof each === "object" ? each.join("-") : String(each))).join(", "),
  code(verdict),
  code(whoActs),
  summary,
  nextStep,
];

/** The paths below webhook_url at which an event type arrives, one per key. */
function pathsOf(type: EventType): string[] {
  return EVENT_KEYS.flatMap((key) => {
    const { url, events, routes } = describeEndpoint("", key);
    return [{ url, events }, ...routes].filter((target) => target.events.includes(type));
  }).map(({ url }) => code(String(url)));
}

const eventTypesTable = () =>
  markdownTable(
    ["type", "sent to", "meaning"],
    (Object.keys(EVENT_MEANINGS) as EventType[]).map((type) => [
      code(type),
      pathsOf(type).join(", ") || "any",
      EVENT_MEANINGS[type],
    ]),
  );

/** Every event type with its fields and an example. */
const eventCatalogue = (): string => EVENT_TYPES.map(describeType).join("\n\n");

/** The keywords of a schema that the catalogue shows. */
interface Shape extends Partial<Pick<TObject, "properties" | "required">> {
  type?: string;
  format?: string;
  title?: string;
  description?: string;
  const?: unknown;
  enum?: readonly string[];
  anyOf?: readonly Shape[];
  items?: Shape;
  examples?: readonly unknown[];
}

/** Schemas of the API that other pages describe; their fields are not repeated. */
const isApiObject = ({ title }: Shape) => title?.endsWith("Dto") === true;

function typeOf(shape: Shape): string {
  if (shape.anyOf) return [...new Set(shape.anyOf.map(typeOf))].join(" or ");
  if (shape.enum) return shape.enum.map(code).join(", ");
  if (shape.const !== undefined) return code(String(shape.const));
  if (isApiObject(shape)) return code(String(shape.title));
  if (shape.type === "array") return `list of ${typeOf(shape.items ?? {})}`;
  if (shape.format === "date-time") return "time";
  return shape.type ?? "any JSON";
}

/** The rows of a field and, recursively, of the fields in it or in its items. */
function rowsOf(name: string, schema: TSchema, isRequired: boolean): string[][] {
  const shape = schema as Shape;
  const [child, prefix] = shape.type === "array" ? [shape.items ?? {}, `${name}[].`] : [shape, `${name}.`];
  const type = isRequired ? typeOf(shape) : `${typeOf(shape)}, optional`;
  return [
    [code(name), type, shape.description ?? ""],
    ...(isApiObject(child) ? [] : fieldRows(child, prefix)),
  ];
}

const fieldRows = ({ properties = {}, required = [] }: Shape, prefix: string): string[][] =>
  Object.entries(properties).flatMap(([name, schema]) =>
    rowsOf(prefix + name, schema, required.includes(name)),
  );

function describeFields({ properties = {} }: Shape): string {
  const rows = fieldRows(properties.data as Shape, "data.");
  return rows.length === 0 ? "`data` has no fields." : markdownTable(["field", "type", "meaning"], rows);
}

function describeType(type: EventType): string {
  const shape = EVENT_PAYLOADS[type] as Shape;
  const example = JSON.stringify(shape.examples?.[0], null, 2);
  const parts = [`### ${type}`, `${EVENT_MEANINGS[type]}.`, describeFields(shape)];
  return [...parts, `\`\`\`json\n${example}\n\`\`\``].join("\n\n");
}
