import type { Route } from "../../http/route.ts";
import { type PeopleParts, peopleRoutes } from "./data-deletion-routes.ts";
import { type DoorParts, doorRoutes } from "./webhook-routes.ts";

/** What the platforms call. */
export const ingressRoutes = (parts: DoorParts & PeopleParts): Route[] => [
  ...doorRoutes(parts),
  ...peopleRoutes(parts),
];
