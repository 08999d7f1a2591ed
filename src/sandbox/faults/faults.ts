import { CALL_FAULTS, type CallFault, type Fault, INBOX_PATH, type WebhookFault } from "./fault.ts";

/** The properties of a call that faults are matched against. */
export interface Target {
  method: string;
  /** Without the query. */
  path: string;
  /** True unless the token is the app's own, which cannot be revoked. */
  hasRevocableToken: boolean;
}

export interface Faults {
  arm(fault: Fault): void;
  /** Faults with uses left, in the order of arming. */
  armed(): readonly Fault[];
  clear(): void;
  /** Returns the oldest fault that matches the call and uses it up once. */
  takeForCall(target: Target): ArmedCallFault | undefined;
  /** True when the fault is armed for the webhook being sent; uses it up once. */
  takeForWebhook(kind: WebhookFault): boolean;
}

export type ArmedCallFault = Fault & { kind: CallFault };

/** `arm` adds a fault; each match uses it up once. It is removed after its last use or by `clear`. */
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

const VERSION_PREFIX = /^\/v\d+\.\d+\//;

const withoutVersion = (path: string) => path.replace(VERSION_PREFIX, "/");

/**
 * A fault without a path matches every call of the graph. Dialogs, downloads and the inbox fail only
 * when the path names them.
 */
function isMatch({ match, kind }: ArmedCallFault, { method, path, hasRevocableToken }: Target): boolean {
  if (kind === "dead_token" && !hasRevocableToken) return false;
  const { method: wantedMethod, path: wantedPath, path_prefix: prefix } = match ?? {};
  if (wantedMethod !== undefined && wantedMethod !== method) return false;
  const paths = [path, withoutVersion(path)];
  if (wantedPath !== undefined && !paths.includes(wantedPath)) return false;
  if (prefix === undefined) return wantedPath !== undefined || VERSION_PREFIX.test(path);
  if (path.startsWith(INBOX_PATH)) return prefix.startsWith(INBOX_PATH) && path.startsWith(prefix);
  return paths.some((candidate) => candidate.startsWith(prefix));
}
