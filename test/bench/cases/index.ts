import type { BenchCase } from "../frame/case.ts";
import { BACKLOG } from "./backlog.ts";
import { BATCHES } from "./batches.ts";
import { DELIVERY } from "./delivery.ts";
import { GROWTH } from "./growth/growth.ts";
import { IMAGES } from "./images.ts";
import { INTAKE } from "./intake.ts";
import { LATENCY } from "./latency.ts";
import { SENDS } from "./sends.ts";
import { SLOW_NEIGHBOUR } from "./slow-neighbour.ts";
import { SOAK } from "./soak/soak.ts";
import { TWO_DISPATCHERS } from "./two-dispatchers.ts";
import { WEBHOOK_ENDPOINT } from "./webhook-endpoint/webhook-endpoint.ts";

/** All cases, in the order of the table. */
export const CASES: readonly BenchCase[] = [
  INTAKE,
  BATCHES,
  WEBHOOK_ENDPOINT,
  DELIVERY,
  LATENCY,
  SENDS,
  SLOW_NEIGHBOUR,
  IMAGES,
  GROWTH,
  BACKLOG,
  TWO_DISPATCHERS,
  SOAK,
];
