import { type Route, route } from "../../../http/route.ts";
import { ENUMERATIONS, enumerations } from "./schema.ts";

export const enumRoutes = (): Route[] => [
  route({
    method: "get",
    path: "/api/marketing/enums",
    operationId: "getEnumerations",
    scope: "marketing:read",
    summary: "List the values of every enumeration",
    description:
      "One list per field. `call_to_action_type`, `date_preset`, `time_increment` and `insights_fields` list common values; the ad platform accepts more.",
    etag: true,
    reply: enumerations,
    handle: () => ENUMERATIONS as Record<string, string[]>,
  }),
];
