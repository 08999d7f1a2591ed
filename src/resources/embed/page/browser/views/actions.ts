import type { Platform } from "../../../../../schema/enumerations.ts";

/** What a person can do. */
export interface Actions {
  /** Must be called in the click: it opens a window. */
  connect(platform: Platform): void;
  cancel(): void;
  choose(assetId: string): void;
  submitPin(pin: string): void;
}
