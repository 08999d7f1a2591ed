import { MINUTE, SECOND } from "../../runtime/durations.ts";
import type { Quota } from "../graph.ts";
import type { UsageKind } from "../node-kind.ts";
import { usageHeaders } from "../usage.ts";
import { Reply } from "../wire/call.ts";
import { GraphError } from "../wire/graph-error.ts";

interface Limit {
  code: number;
  subcode?: number;
  message: string;
}

const APP_LIMIT: Limit = { code: 4, message: "Application request limit reached" };
const APP_LIMIT_CODES: readonly number[] = [4, 341];
const SENDING_LIMIT: Limit = { code: 130_429, message: "Rate limit hit" };

const tooManyCalls = (code: number, subcode?: number): Limit => ({
  code,
  ...(subcode === undefined ? {} : { subcode }),
  message: "There have been too many calls to this account. Wait a bit and try again.",
});

const LIMITS: Readonly<Record<UsageKind, Limit>> = {
  ads_management: tooManyCalls(80_004, 2_446_079),
  ads_insights: tooManyCalls(80_000, 2_446_079),
  whatsapp: tooManyCalls(80_007),
  messenger: tooManyCalls(80_006),
  instagram: tooManyCalls(80_002),
  pages: tooManyCalls(80_001),
};

interface ThrottleInput {
  code?: number | undefined;
  subcode?: number | undefined;
  ms?: number | undefined;
}

/** Builds the platform's rate limit error for an exhausted quota. */
export function throttleReply(quota: Quota, { code, subcode, ms = 1 * MINUTE }: ThrottleInput): Reply {
  const limit = code === undefined ? limitOf(quota) : tooManyCalls(code, subcode);
  const shownSubcode = subcode ?? limit.subcode;
  const error = new GraphError(
    limit.code,
    `(#${limit.code}) ${limit.message}`,
    shownSubcode === undefined ? {} : { subcode: shownSubcode },
  );
  // When the app's limit is reached, the asset's own quota is not exhausted.
  const usage = APP_LIMIT_CODES.includes(limit.code) ? undefined : quota.usage;
  const headers = usageHeaders(usage, quota.asset, {
    percent: 100,
    regainMinutes: Math.ceil(ms / MINUTE),
    resetSeconds: Math.ceil(ms / SECOND),
  });
  return new Reply(error.envelope(), { status: error.status, headers });
}

/** Sending messages has a different limit than managing the number. */
function limitOf({ usage, edge }: Quota): Limit {
  if (usage === "whatsapp" && edge === "POST messages") return SENDING_LIMIT;
  return usage === undefined ? APP_LIMIT : LIMITS[usage];
}
