import type { Ground } from "../context.ts";
import { perGround } from "../per-sandbox.ts";

/** How the ids of people on the photo platform begin here, so that one is known by its id alone. */
export const PHOTO_PERSON = "1784";

const writersOf = perGround(() => new Set<string>());

/** Somebody has written to a photo account. */
export const rememberPhotoPerson = (ground: Ground, id: string): void => void writersOf(ground).add(id);

export const isPhotoPerson = (ground: Ground, id: string): boolean =>
  id.startsWith(PHOTO_PERSON) || writersOf(ground).has(id);
