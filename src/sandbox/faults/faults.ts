import { CALL_FAULTS, type CallFault, type Fault, INBOX, type WebhookFault } from "./fault.ts";

/** As much of a call as a fault can be meant for. */
export interface Target {
  method: string;
  /** Without the query. */
  path: string;
  /** It is about a token that was issued to somebody. The app's own ends with the app alone. */
  isMortal: boolean;
}

export interface Faults {
  arm(fault: Fault): void;
  /** Those that something can still befall, in the order of arming. */
  armed(): readonly Fault[];
  clear(): void;
  /** The oldest fault that is meant for this call, used once. */
  takeForCall(target: Target): ArmedForCall | undefined;
  /** Whether this befalls the webhook that is being sent. */
  takeForWebhook(kind: WebhookFault): boolean;
}

export type ArmedForCall = Fault & { kind: CallFault };

export function createFaults(): Faults {
  let armed: Fault[] = [];
  const take = <F extends Fault>(isMeant: (fault: Fault) => fault is F): F | undefined => {
    const fault = armed.find(isMeant);
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
      take((fault): fault is ArmedForCall => isCallFault(fault) && isMeant(fault, target)),
    takeForWebhook: (kind) => take((fault): fault is Fault => fault.kind === kind) !== undefined,
  };
}

const isCallFault = (fault: Fault): fault is ArmedForCall => CALL_FAULTS.some((kind) => kind === fault.kind);

const VERSION = /^\/v\d+\.\d+(?=\/)/;

/** Without a path every call of the graph is meant. Pages, downloads and the inbox only fail where they are named. */
function isMeant({ match, kind }: ArmedForCall, { method, path, isMortal }: Target): boolean {
  if (kind === "dead_token" && !isMortal) return false;
  if (match?.method !== undefined && match.method !== method) return false;
  const prefix = match?.path_prefix;
  if (prefix === undefined) return VERSION.test(path);
  if (path.startsWith(INBOX)) return prefix.startsWith(INBOX) && path.startsWith(prefix);
  return path.startsWith(prefix) || path.replace(VERSION, "").startsWith(prefix);
}
