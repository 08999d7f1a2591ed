import { SECOND } from "../../runtime/durations.ts";
import type { Graph } from "../graph.ts";
import type { Tokens } from "../login/tokens.ts";
import { graphErrorReply } from "../server/error-reply.ts";
import { Reply } from "../wire/call.ts";
import type { DeadTokenSubcode } from "../wire/graph-error.ts";
import { type CallFault, INBOX_PATH } from "./fault.ts";
import type { ArmedCallFault } from "./faults.ts";
import { injectedError } from "./injected-error.ts";
import { throttleReply } from "./throttle.ts";

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
