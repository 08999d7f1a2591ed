/** Who can act on a message that waits or has failed. */
export const ACTORS = ["nobody", "you", "recipient", "platform", "operator"] as const;

/** The headings below "Causes" in docs/guides/errors.md. */
export const CAUSE_SECTIONS = {
  progress: "Progress",
  recipient: "Recipient",
  content: "Content",
  templates: "Templates and flows",
  channel: "Channel and account",
  platform: "Platform",
  herald: "Herald",
  backend: "Your backend",
} as const;

/** ok: the platform has the message, or it was cancelled. unknown: the platform may have it. */
export const VERDICTS = ["ok", "waiting", "failed", "unknown"] as const;

/** A platform's code, alone or with its subcode, a range of codes, or a word of Herald. */
export type CauseCode = number | string | readonly [from: number, to: number];

export interface CauseDefinition {
  verdict: (typeof VERDICTS)[number];
  /** One sentence, which says what is the case. */
  summary: string;
  whoActs: (typeof ACTORS)[number];
  nextStep: string;
  section: keyof typeof CAUSE_SECTIONS;
  /** The `error.code` of messages that failed for this cause. */
  codes?: readonly CauseCode[];
}

/** Adds the values that the causes of a group share; a cause may have its own instead. */
export const defineCauses = <Name extends string, Shared extends Partial<CauseDefinition>>(
  shared: Shared,
  table: Record<Name, Omit<CauseDefinition, keyof Shared> & Partial<CauseDefinition>>,
): Record<Name, CauseDefinition> =>
  Object.fromEntries(
    Object.entries<Partial<CauseDefinition>>(table).map(([cause, own]) => [
      cause,
      { ...shared, ...own } as CauseDefinition,
    ]),
  ) as Record<Name, CauseDefinition>;
