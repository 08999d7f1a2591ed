import type { Database } from "../store/database/database.ts";
import { readAcceptance } from "../store/tenants/terms.ts";
import { ApiError } from "./api-error.ts";
import { authenticate, type Caller, type CredentialScheme } from "./caller.ts";
import type { OpenExchange } from "./exchange.ts";
import type { RateLimit } from "./rate-limit.ts";
import type { Route } from "./route.ts";

/** A condition on the client besides scope and role. Throws an ApiError when it is not met. */
export type Gate = (caller: Caller) => Promise<void>;

/**
 * Requires acceptance of the terms in force. Queried on every request, so a new version takes effect
 * immediately.
 */
export const termsGate =
  (db: Database): Gate =>
  async ({ clientId }) => {
    const { version, accepted } = await readAcceptance(db.forKey(clientId), clientId);
    if (accepted) return;
    throw new ApiError("terms_not_accepted", `The client must accept version ${version} of the terms first`, {
      extra: { current_version: version },
    });
  };

export interface AdmissionRules {
  credentials: readonly CredentialScheme[];
  rateLimit: RateLimit;
  gates: Readonly<Record<string, Gate>>;
}

/**
 * Authenticates and authorises the request, in the order that the API contract fixes. Does not read the body.
 */
export async function admit(
  route: Route,
  headers: Parameters<typeof authenticate>[1],
  exchange: OpenExchange,
  rules: AdmissionRules,
): Promise<Caller | undefined> {
  if (route.scope === "public") return undefined;
  const caller = await authenticate(rules.credentials, headers);
  exchange.clientId = caller.clientId;
  const rateLimitHeaders = await rules.rateLimit(caller.clientId);
  for (const [name, value] of Object.entries(rateLimitHeaders)) exchange.setHeader(name, value);
  assertConsole(route, caller);
  assertScope(route.scope, caller);
  assertRole(route, caller);
  if (route.gate !== undefined) await rules.gates[route.gate]?.(caller);
  return caller;
}

function assertConsole(route: Route, caller: Caller): void {
  if (route.consoleOnly && caller.credential.type !== "user")
    throw new ApiError(
      "console_only",
      "API keys cannot make this request: sign in to the console or send a user token",
    );
}

function assertScope(scope: Exclude<Route["scope"], "public">, caller: Caller): void {
  if (scope === "any credential") return;
  const sufficient = typeof scope === "string" ? [scope] : scope;
  if (sufficient.some((one) => caller.scopes.has(one))) return;
  throw new ApiError("insufficient_scope", `This request requires the scope ${sufficient.join(" or ")}`, {
    extra: { required_scope: sufficient[0] },
  });
}

function assertRole(route: Route, caller: Caller): void {
  if (!route.roles || (caller.role !== null && route.roles.includes(caller.role))) return;
  throw new ApiError("role_insufficient", `This request requires the role ${route.roles.join(" or ")}`);
}
