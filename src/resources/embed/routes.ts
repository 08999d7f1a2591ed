import type { Route } from "../../http/route.ts";
import type { PageParts } from "./page-api.ts";
import { pageRoutes } from "./page-routes.ts";
import { sessionRoutes } from "./session-routes.ts";
import { stepRoutes } from "./step-routes.ts";
import { tryRoutes } from "./try-routes.ts";

/** Embedded signup: the client's endpoints, the page, and the requests that the page makes. */
export const embedRoutes = (parts: PageParts): Route[] => [
  ...sessionRoutes({ publicUrl: parts.settings.PUBLIC_URL }),
  ...pageRoutes(),
  ...tryRoutes(parts),
  ...stepRoutes(parts),
];
