import type { Codes, Tokens } from "./graph/tokens.ts";
import type { SandboxSettings } from "./settings.ts";
import type { Webhooks } from "./webhooks.ts";

/** The dependencies that all simulated platforms share. */
export interface SandboxContext {
  settings: SandboxSettings;
  tokens: Tokens;
  codes: Codes;
  webhooks: Webhooks;
  /** The origin of the media server; valid after start. */
  mediaOrigin(): string;
  /** Current time in milliseconds. */
  now(): number;
  /** Runs the work after this many milliseconds of sandbox time, unless the sandbox is closed first. */
  schedule(milliseconds: number, work: () => void): void;
}

let createdCount = 0n;

/** Returns an id like the platform's: too long for a double, and not repeated after a restart. */
export function newNodeId(): string {
  createdCount += 1n;
  return String(
    120_000_000_000_000_000n + BigInt(Date.now() % 1_000_000_000_000) * 10_000n + (createdCount % 10_000n),
  );
}

/**
 * Returns state that belongs to one sandbox: created on first use, shared by its nodes, routes and webhooks,
 * and collected together with its context.
 */
export function perSandbox<T>(create: () => T): (context: object) => T {
  const instances = new WeakMap<object, T>();
  return (context) => {
    const instance = instances.get(context) ?? create();
    instances.set(context, instance);
    return instance;
  };
}
