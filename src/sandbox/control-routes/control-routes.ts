import type { Ground } from "../context.ts";
import type { Faults } from "../faults/faults.ts";
import type { Records } from "../records/records.ts";
import type { DeveloperDoor } from "./control-route.ts";
import { faultDoors } from "./faults.ts";
import { indexDoors } from "./index-route.ts";
import { recordDoors } from "./records.ts";
import { webhookDoors } from "./webhooks.ts";

export interface DeveloperParts {
  faults: Faults;
  requests: Records;
  inbox: Records;
}

/** Everything under /_sandbox. */
export function developerDoors(ground: Ground, { faults, ...records }: DeveloperParts): DeveloperDoor[] {
  const doors = [...faultDoors(faults, ground.tokens), ...recordDoors(records), ...webhookDoors(ground)];
  return [...doors, ...indexDoors(doors, ground.settings)];
}
