import { MINUTE, SECOND } from "../runtime/durations.ts";
import { type ArmedCallFault, type CallFault, INBOX_PATH } from "./faults.ts";
import type { Graph, Quota } from "./graph/graph.ts";
import { type DeadTokenSubcode, GraphError } from "./graph/graph-error.ts";
import { graphErrorReply, Reply, type UsageKind } from "./graph/node.ts";
import type { Tokens } from "./graph/tokens.ts";
import { usageHeaders } from "./graph/usage.ts";

/** A call that meets a fault. */
export interface PendingCall {
  method: string;
  url: URL;
  /** The token that the call uses, inspects or exchanges. */
  token: string;
  /** Executes the call as if there were no fault. */
  execute(): Promise<Reply>;
}

/** Undefined means that the connection is destroyed without a reply. */
export type Outcome = Reply | undefined;

/** Produces the outcome of a call that meets the fault. */
export type Effect = (fault: ArmedCallFault, call: PendingCall) => Promise<Outcome> | Outcome;

interface EffectParts {
  tokens: Tokens;
  quotaOf: Graph["quotaOf"];
  pause(milliseconds: number): Promise<void>;
}

const TEMPORARY_ERROR_CODE = 2;

/** Faults that prevent the call from being executed. */
export const PREVENTING_FAULTS: readonly CallFault[] = [
  "error",
  "error_in_200",
  "throttle",
  "html",
  "drop_before",
];

export function createEffects({ tokens, quotaOf, pause }: EffectParts): Record<CallFault, Effect> {
  return {
    error: ({ code, subcode }, { url }) =>
      url.pathname.startsWith(INBOX_PATH)
        ? inboxErrorReply(code)
        : graphErrorReply(injectedError(code ?? TEMPORARY_ERROR_CODE, subcode)),
    error_in_200: ({ code = TEMPORARY_ERROR_CODE, subcode }) =>
      new Reply(injectedError(code, subcode).envelope()),
    throttle: (fault, { method, url }) => throttleReply(quotaOf(method, url), fault),
    html: () => badGatewayReply(),
    async delay({ ms = 1 * SECOND }, { execute }) {
      await pause(ms);
      return execute();
    },
    drop_before: () => undefined,
    async drop_after(_, { execute }) {
      await execute();
      return undefined;
    },
    dead_token({ subcode }, { token, execute }) {
      tokens.revoke(token, subcode as DeadTokenSubcode | undefined);
      return execute();
    },
  };
}

/** A client's backend has no error codes, only HTTP statuses. */
const inboxErrorReply = (status = 500): Reply =>
  new Reply({ error: { message: "The inbox failed because of an injected fault" } }, { status });

const BAD_GATEWAY_HTML =
  "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n";

const badGatewayReply = (): Reply =>
  new Reply(Buffer.from(BAD_GATEWAY_HTML), { status: 502, headers: { "content-type": "text/html" } });

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

/** HTTP statuses of error codes. All other codes use 400. */
const ERROR_STATUSES: readonly [status: number, codes: readonly number[]][] = [
  [401, [0, 102, 104, 190]],
  [403, [10, 368, 130497, 131005, 131031]],
  [404, [803, 132001]],
  [500, [3, 131000, 131016, 131045, 131057, 133000]],
  [503, [2, 133004]],
];

function statusOf(code: number): number {
  if (code >= 200 && code <= 299) return 403;
  return ERROR_STATUSES.find(([, codes]) => codes.includes(code))?.[0] ?? 400;
}

const ERROR_MESSAGES: Readonly<Record<number, string>> = {
  1: "An unknown error occurred",
  2: "Service temporarily unavailable",
  4: "Application request limit reached",
  10: "Application does not have permission for this action",
  17: "User request limit reached",
  32: "Page request limit reached",
  100: "Invalid parameter",
  190: "Error validating access token",
  613: "Calls to this api have exceeded the rate limit.",
  131026: "Message undeliverable",
  131047: "Re-engagement message",
};

const MIN_CHAT_CODE = 130_000;

/** Builds the platform's error for a code, with the status and fields that belong to the code. */
function injectedError(code: number, subcode?: number): GraphError {
  const hasUserMessage = code === 100 && subcode !== undefined;
  return new GraphError(
    code,
    `(#${code}) ${ERROR_MESSAGES[code] ?? "This error was injected by a sandbox fault"}`,
    {
      status: statusOf(code),
      transient: code === 2,
      ...(subcode === undefined ? {} : { subcode }),
      ...(hasUserMessage
        ? {
            userTitle: "Not accepted",
            userMessage: "This error was injected by a sandbox fault. The request itself is valid.",
          }
        : {}),
      ...errorDataOf(code, subcode),
    },
  );
}

/**
 * `error_data` is an object, or its JSON text for an odd subcode. The platform sends both forms, so callers
 * must parse both.
 */
function errorDataOf(code: number, subcode: number | undefined): { data?: unknown } {
  if (code >= MIN_CHAT_CODE)
    return {
      data: { messaging_product: "whatsapp", details: "This error was injected by a sandbox fault." },
    };
  if (code !== 100 || subcode === undefined) return {};
  const data = { blame_field_specs: [["name"]] };
  return { data: subcode % 2 === 0 ? data : JSON.stringify(data) };
}
