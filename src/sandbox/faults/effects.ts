import { SECOND } from "../../runtime/durations.ts";
import type { Graph } from "../graph.ts";
import type { Tokens } from "../login/tokens.ts";
import { replyOf } from "../server/error-reply.ts";
import { Reply } from "../wire/call.ts";
import type { CauseOfDeath } from "../wire/graph-error.ts";
import { type CallFault, INBOX } from "./fault.ts";
import type { ArmedForCall } from "./faults.ts";
import { injectedError } from "./injected-error.ts";
import { throttled } from "./throttle.ts";

/** A call that a fault befalls. */
export interface Befallen {
  method: string;
  url: URL;
  /** The token that the call is about. */
  token: string;
  /** Does what was asked for. */
  act(): Promise<Reply>;
}

/** The answer, or none: then the connection is broken. */
export type Outcome = Reply | undefined;

/** What comes of a call that meets the fault. */
export type Effect = (fault: ArmedForCall, befallen: Befallen) => Promise<Outcome> | Outcome;

interface EffectParts {
  tokens: Tokens;
  quotaOf: Graph["quotaOf"];
  pause(milliseconds: number): Promise<void>;
}

const TEMPORARY = 2;

/** These keep the platform from doing what it was asked for. */
export const PREVENTING: readonly CallFault[] = ["error", "error_in_200", "throttle", "html", "drop_before"];

export function createEffects({ tokens, quotaOf, pause }: EffectParts): Record<CallFault, Effect> {
  return {
    error: ({ code, subcode }, { url }) =>
      url.pathname.startsWith(INBOX)
        ? failedBackend(code)
        : replyOf(injectedError(code ?? TEMPORARY, subcode)),
    error_in_200: ({ code = TEMPORARY, subcode }) => new Reply(injectedError(code, subcode).envelope()),
    throttle: (fault, { method, url }) => throttled(quotaOf(method, url), fault),
    html: () => badGateway(),
    async delay({ ms = 1 * SECOND }, { act }) {
      await pause(ms);
      return act();
    },
    drop_before: () => undefined,
    async drop_after(_, { act }) {
      await act();
      return undefined;
    },
    dead_token({ subcode }, { token, act }) {
      tokens.kill(token, subcode as CauseOfDeath | undefined);
      return act();
    },
  };
}

/** A tenant's backend has no codes of its own, only statuses. */
const failedBackend = (status = 500): Reply =>
  new Reply({ error: { message: "The inbox was asked to fail" } }, { status });

const PAGE =
  "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n";

const badGateway = (): Reply =>
  new Reply(Buffer.from(PAGE), { status: 502, headers: { "content-type": "text/html" } });
