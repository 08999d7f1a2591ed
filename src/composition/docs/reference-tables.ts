import { type Command, usageOf as optionUsageOf } from "../../commands/program/command.ts";
import { COMMANDS } from "../../commands/program/program.ts";
import { describeEndpoint } from "../../delivery/endpoints.ts";
import { ERROR_CODES, ERROR_STATUS } from "../../http/api-error.ts";
import { ERROR_NOTES } from "../../http/openapi/error-notes.ts";
import type { Route } from "../../http/route.ts";
import { settingsRows } from "../../runtime/config/settings-docs.ts";
import { LOG_EVENTS } from "../../runtime/logging/log-events.ts";
import { createMetrics } from "../../runtime/metrics/metrics.ts";
import { EVENT_KEYS, type EventType, SCOPES } from "../../schema/enumerations.ts";
import { EVENT_MEANINGS } from "../../schema/events/event-meanings.ts";
import { DELIVERY_ERRORS, MESSAGE_ERRORS, SIGNUP_ERRORS } from "../../schema/history/stored-errors.ts";
import { eventCatalogue } from "./event-catalogue.ts";
import { code, type GeneratedParts, markdownTable } from "./markdown.ts";

const settingsTable = () => markdownTable(["name", "default", "meaning"], settingsRows());

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

const commandsTable = () =>
  markdownTable(
    ["command", "effect"],
    COMMANDS.map((command) => [usageOf(command), command.summary]),
  );

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
    ERROR_CODES.map((error) => [String(ERROR_STATUS[error]), code(error), ERROR_NOTES[error].when]),
  );

const storedErrorsTable = (head: string, errors: Readonly<Record<string, string>>) =>
  markdownTable(
    [head, "meaning"],
    Object.entries(errors).map(([error, meaning]) => [code(error), meaning]),
  );

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

/** The tables of the documentation that describe the service itself. */
export const referenceTables = (routes: readonly Route[]): GeneratedParts =>
  new Map([
    ["settings", settingsTable()],
    ["log-events", logEventsTable()],
    ["metrics", metricsTable()],
    ["commands", commandsTable()],
    ["scopes", scopesTable(routes)],
    ["error-codes", errorCodesTable()],
    ["message-errors", storedErrorsTable("code", MESSAGE_ERRORS)],
    ["delivery-errors", storedErrorsTable("`last_error`", DELIVERY_ERRORS)],
    ["signup-errors", storedErrorsTable("`error.code`", SIGNUP_ERRORS)],
    ["event-types", eventTypesTable()],
    ["event-catalogue", eventCatalogue()],
  ]);
