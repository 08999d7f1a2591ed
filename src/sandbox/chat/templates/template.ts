import { DAY } from "../../../runtime/durations.ts";
import type { Ground } from "../../context.ts";
import { perGround } from "../../per-sandbox.ts";
import { GraphError } from "../../wire/graph-error.ts";

export const CATEGORIES = ["AUTHENTICATION", "MARKETING", "UTILITY"] as const;
export type Category = (typeof CATEGORIES)[number];

export const PARAMETER_FORMATS = ["POSITIONAL", "NAMED"] as const;
export type ParameterFormat = (typeof PARAMETER_FORMATS)[number];

export type Component = Record<string, unknown>;

/** One translation of a message that the platform has to approve. */
export interface Template {
  id: string;
  waba: string;
  name: string;
  language: string;
  category: Category;
  parameter_format: ParameterFormat;
  components: readonly Component[];
  status: "PENDING" | "APPROVED" | "REJECTED" | "PAUSED" | "DELETED";
  rejected_reason: "NONE" | "INVALID_FORMAT";
  quality_score: { score: string };
  message_send_ttl_seconds?: number;
  /** Milliseconds. */
  changed: number;
}

const BLOCKED_FOR = 30 * DAY;

interface Shelf {
  byId: Map<string, Template>;
  /** When the approved ones that bore a name were deleted. */
  blocked: Map<string, number>;
}

const shelfOf = perGround((): Shelf => ({ byId: new Map(), blocked: new Map() }));

export const templateById = (ground: Ground, id: string): Template | undefined =>
  shelfOf(ground).byId.get(id);

export const templatesOf = (ground: Ground, waba: string): Template[] =>
  [...shelfOf(ground).byId.values()].filter((template) => template.waba === waba);

export const keep = (ground: Ground, template: Template): void =>
  void shelfOf(ground).byId.set(template.id, template);

type Named = Pick<Template, "waba" | "name" | "language">;

const keyOf = ({ waba, name, language }: Named) => `${waba} ${name} ${language}`;

/** Whoever has received an approved one may still look at it: its name stays taken for a while. */
export function forget(ground: Ground, template: Template): void {
  const { byId, blocked } = shelfOf(ground);
  if (template.status === "APPROVED") blocked.set(keyOf(template), Date.now());
  template.status = "DELETED";
  byId.delete(template.id);
}

export const isBlocked = (ground: Ground, named: Named): boolean =>
  Date.now() - (shelfOf(ground).blocked.get(keyOf(named)) ?? Number.NEGATIVE_INFINITY) < BLOCKED_FOR;

/** How the platform refuses a template: in words for a person, told apart by their subcode. */
export const refusedTemplate = (subcode: number, userTitle: string, userMessage: string): GraphError =>
  new GraphError(100, "Invalid parameter", { subcode, userTitle, userMessage });
