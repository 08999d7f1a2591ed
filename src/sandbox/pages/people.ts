import type { SandboxContext } from "../context.ts";
import { perSandbox } from "../per-sandbox.ts";

/** Ids with this prefix belong to people on the photo platform. */
export const PHOTO_PERSON_PREFIX = "1784";

const photoPeopleOf = perSandbox(() => new Set<string>());

/** Records that a person has written to a photo account. */
export const rememberPhotoPerson = (context: SandboxContext, id: string): void =>
  void photoPeopleOf(context).add(id);

export const isPhotoPerson = (context: SandboxContext, id: string): boolean =>
  id.startsWith(PHOTO_PERSON_PREFIX) || photoPeopleOf(context).has(id);
