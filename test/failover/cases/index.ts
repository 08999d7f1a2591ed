import type { FailoverCase } from "../frame/case.ts";
import { CLUSTER_CASES } from "./clusters.ts";

export const CASES: readonly FailoverCase[] = [...CLUSTER_CASES];
