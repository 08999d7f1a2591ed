import { object, oneOf, Type } from "../../schema/types.ts";

export const liveness = object({ status: oneOf(["ok"]), version: Type.String({ examples: ["1.4.2"] }) });

export const readiness = object({
  status: oneOf(["ready", "degraded"], {
    description: "`degraded`: Redis is unreachable; requests are served and nothing is lost",
  }),
  postgres: oneOf(["ok"]),
  redis: oneOf(["ok", "away"]),
});
