import type { FailoverCase } from "../frame/case.ts";
import { CLUSTER_CASES } from "./clusters.ts";
import { SERVER_CASES } from "./servers.ts";

export const CASES: readonly FailoverCase[] = [...SERVER_CASES, ...CLUSTER_CASES];
