import type { Door } from "../server/route.ts";

/** A door for developers says in the index what it is for. */
export interface DeveloperDoor extends Door {
  summary: string;
}
