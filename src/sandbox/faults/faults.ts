import { CALL_FAULTS, type CallFault, type Fault, INBOX_PATH, type WebhookFault } from "./fault.ts";

/** As much of a call as a fault can be meant for. */
export interface Target {
  method: string;
  /** Without the query. */
  path: string;
  /** It is about a token that was issued to somebody. The app's own ends with the app alone. */
  hasRevocableToken: boolean;
}

export interface Faults {
  arm(fault: Fault): void;
  /** Those that something can still befall, in the order of arming. */
  armed(): readonly Fault[];
  clear(): void;
  /** The oldest fault that is meant for this call, used once. */
  takeForCall(target: Target): ArmedCallFault | undefined;
  /** Whether this befalls the webhook that is being sent. */
  takeForWebhook(kind: WebhookFault): boolean;
}

export type ArmedCallFault = Fault & { kind: CallFault };

export function createFaults(): Faults {
  let armed: Fault[] = [];
  const take = <F extends Fault>(predicate: (fault: Fault) => fault is F): F | undefined => {
    const fault = armed.find(predicate);
    if (!fault) return undefined;
    fault.times -= 1;
    armed = armed.filter(({ times }) => times > 0);
    return fault;
  };
  return {
    arm: (fault) => void armed.push({ ...fault }),
    armed: () => armed,
    clear: () => {
      armed = [];
    },
    takeForCall: (target) =>
      take((fault): fault is ArmedCallFault => isCallFault(fault) && isMatch(fault, target)),
    takeForWebhook: (kind) => take((fault): fault is Fault => fault.kind === kind) !== undefined,
  };
}

const isCallFault = (fault: Fault): fault is ArmedCallFault =>
  CALL_FAULTS.some((kind) => kind === fault.kind);

const VERSION_PREFIX = /^\/v\d+\.\d+(?=\/)/;

/** Without a path every call of the graph is meant. Pages, downloads and the inbox only fail where they are named. */
function isMatch({ match, kind }: ArmedCallFault, { method, path, hasRevocableToken }: Target): boolean {
  if (kind === "dead_token" && !hasRevocableToken) return false;
  if (match?.method !== undefined && match.method !== method) return false;
  const prefix = match?.path_prefix;
  if (prefix === undefined) return VERSION_PREFIX.test(path);
  if (path.startsWith(INBOX_PATH)) return prefix.startsWith(INBOX_PATH) && path.startsWith(prefix);
  return path.startsWith(prefix) || path.replace(VERSION_PREFIX, "").startsWith(prefix);
}
