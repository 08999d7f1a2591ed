import { DAY } from "../../../runtime/durations.ts";
import { WABAS } from "../../built-in-assets.ts";
import { perSandbox, type SandboxContext } from "../../context.ts";
import { GraphError } from "../../graph/graph-error.ts";

export const CATEGORIES = ["AUTHENTICATION", "MARKETING", "UTILITY"] as const;
export type Category = (typeof CATEGORIES)[number];

export const PARAMETER_FORMATS = ["POSITIONAL", "NAMED"] as const;
export type ParameterFormat = (typeof PARAMETER_FORMATS)[number];

export type Component = Record<string, unknown>;

/**
 * A translation of a template. Its status:
 * - PENDING: in review, after it is created or edited.
 * - APPROVED: the review accepted it; messages can use it.
 * - REJECTED: the review refused it.
 * - PAUSED: the review paused it after its approval, because its name begins with `pause_`.
 * - DELETED: removed from the store; a scheduled review skips it.
 */
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
  /** Times at which approved templates were deleted, by account, name and language. */
  blocked: Map<string, number>;
}

const templateStoreOf = perSandbox(
  (): TemplateStore => ({
    byId: new Map(sampleTemplates().map((template) => [template.id, template])),
    blocked: new Map(),
  }),
);

export const templateById = (context: SandboxContext, id: string): Template | undefined =>
  templateStoreOf(context).byId.get(id);

export const templatesOf = (context: SandboxContext, waba: string): Template[] =>
  [...templateStoreOf(context).byId.values()].filter((template) => template.waba === waba);

export const storeTemplate = (context: SandboxContext, template: Template): void =>
  void templateStoreOf(context).byId.set(template.id, template);

type TemplateIdentity = Pick<Template, "waba" | "name" | "language">;

const keyOf = ({ waba, name, language }: TemplateIdentity) => `${waba} ${name} ${language}`;

/** Deletes a template. The name of an approved one stays blocked for 30 days, like on the platform. */
export function removeTemplate(context: SandboxContext, template: Template): void {
  const { byId, blocked } = templateStoreOf(context);
  if (template.status === "APPROVED") blocked.set(keyOf(template), Date.now());
  template.status = "DELETED";
  byId.delete(template.id);
}

export const isNameBlocked = (context: SandboxContext, identity: TemplateIdentity): boolean =>
  Date.now() - (templateStoreOf(context).blocked.get(keyOf(identity)) ?? Number.NEGATIVE_INFINITY) <
  NAME_BLOCK_MS;

/** A template error: a text for people, with a subcode per case. */
export const templateError = (subcode: number, userTitle: string, userMessage: string): GraphError =>
  new GraphError(100, "Invalid parameter", { subcode, userTitle, userMessage });

const SAMPLE_TEXT =
  "Welcome and congratulations!! This message demonstrates your ability to send a message notification from the Cloud API.";

const SAMPLE = {
  name: "hello_world",
  language: "en_US",
  category: "UTILITY",
  parameter_format: "POSITIONAL",
  components: [
    { type: "HEADER", format: "TEXT", text: "Hello World" },
    { type: "BODY", text: SAMPLE_TEXT },
    { type: "FOOTER", text: "Sample message" },
  ],
  status: "APPROVED",
  rejected_reason: "NONE",
  quality_score: { score: "UNKNOWN" },
} as const;

/** The template that the platform adds to every account, approved from the start. */
const sampleTemplates = () =>
  WABAS.map(({ id }, index) => ({
    ...SAMPLE,
    id: `170000000000060${index + 1}`,
    waba: id,
    changed: 1_790_000_000_000,
  }));
