import { DAY } from "../../../runtime/durations.ts";
import type { SandboxContext } from "../../context.ts";
import { perSandbox } from "../../per-sandbox.ts";
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

const NAME_BLOCK_MS = 30 * DAY;

interface TemplateStore {
  byId: Map<string, Template>;
  /** When the approved ones that bore a name were deleted. */
  blocked: Map<string, number>;
}

const templateStoreOf = perSandbox((): TemplateStore => ({ byId: new Map(), blocked: new Map() }));

export const templateById = (context: SandboxContext, id: string): Template | undefined =>
  templateStoreOf(context).byId.get(id);

export const templatesOf = (context: SandboxContext, waba: string): Template[] =>
  [...templateStoreOf(context).byId.values()].filter((template) => template.waba === waba);

export const storeTemplate = (context: SandboxContext, template: Template): void =>
  void templateStoreOf(context).byId.set(template.id, template);

type TemplateIdentity = Pick<Template, "waba" | "name" | "language">;

const keyOf = ({ waba, name, language }: TemplateIdentity) => `${waba} ${name} ${language}`;

/** Whoever has received an approved one may still look at it: its name stays taken for a while. */
export function removeTemplate(context: SandboxContext, template: Template): void {
  const { byId, blocked } = templateStoreOf(context);
  if (template.status === "APPROVED") blocked.set(keyOf(template), Date.now());
  template.status = "DELETED";
  byId.delete(template.id);
}

export const isNameBlocked = (context: SandboxContext, identity: TemplateIdentity): boolean =>
  Date.now() - (templateStoreOf(context).blocked.get(keyOf(identity)) ?? Number.NEGATIVE_INFINITY) <
  NAME_BLOCK_MS;

/** How the platform refuses a template: in words for a person, told apart by their subcode. */
export const templateError = (subcode: number, userTitle: string, userMessage: string): GraphError =>
  new GraphError(100, "Invalid parameter", { subcode, userTitle, userMessage });
