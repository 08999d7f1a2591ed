import type { Route } from "../../../http/route.ts";
import { type AdObjectRouteParts, adObjectRoutes } from "../ad-object-routes.ts";
import { creative, creativeParams, newCreative } from "./schema.ts";

/** Creatives cannot be edited: an ad gets a new creative instead. */
export const creativeRoutes = (parts: AdObjectRouteParts): Route[] =>
  adObjectRoutes(
    {
      kind: "adcreatives",
      path: "/api/marketing/creatives",
      names: { one: "a creative", many: "creatives" },
      params: creativeParams,
      create: newCreative,
      reply: creative,
    },
    parts,
  );
