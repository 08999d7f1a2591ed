import { POSTGRES_STATES, READINESS_STATUSES, REDIS_STATES } from "../../schema/readiness.ts";
import { object, oneOf, Type } from "../../schema/types.ts";

export const liveness = object({ status: oneOf(["ok"]), version: Type.String({ examples: ["1.4.2"] }) });

export const readiness = object({
  status: oneOf(READINESS_STATUSES, {
    description:
      "`degraded`: requests are served and nothing is lost, but sends and deliveries wait for Redis. `unavailable`: only with 503",
  }),
  postgres: oneOf(POSTGRES_STATES, { description: "`unmigrated`: the database lacks migrations" }),
  redis: oneOf(REDIS_STATES, { description: "`read_only`: Redis answers and refuses writes" }),
});
