import type { FailoverCase } from "../frame/case.ts";
import { CLUSTER_CASES } from "./clusters.ts";
import { PROCESS_CASES } from "./processes.ts";
import { SENTINEL_CASES } from "./sentinels.ts";
import { SERVER_CASES } from "./servers.ts";

export const CASES: readonly FailoverCase[] = [
  ...SERVER_CASES,
  ...SENTINEL_CASES,
  ...CLUSTER_CASES,
  ...PROCESS_CASES,
];
