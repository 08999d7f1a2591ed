import type { Route } from "../../http/route.ts";
import { type DoorParts, doorRoutes } from "./door.ts";
import { type PeopleParts, peopleRoutes } from "./people-routes.ts";

/** What the platforms call. */
export const ingressRoutes = (parts: DoorParts & PeopleParts): Route[] => [
  ...doorRoutes(parts),
  ...peopleRoutes(parts),
];
