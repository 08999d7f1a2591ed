import type { Queryable } from "../store/database/database.ts";
import { readAcceptance } from "../store/tenants/terms.ts";
import { ApiError } from "./api-error.ts";
import { authenticate, type Caller, type CredentialScheme } from "./caller.ts";
import type { OpenExchange } from "./exchange.ts";
import type { RateLimit } from "./rate-limit.ts";
import type { Route } from "./route.ts";

/** A condition on the client beyond scope and role; throws the refusal. */
export type Gate = (caller: Caller) => Promise<void>;

/** Lets those pass who have accepted what is in force. Asked anew each time: a publication closes it at once. */
export const termsGate =
  (db: Queryable): Gate =>
  async ({ clientId }) => {
    const { version, accepted } = await readAcceptance(db, clientId);
    if (accepted) return;
    throw new ApiError("terms_not_accepted", `The terms of version ${version} must be accepted first`, {
      extra: { current_version: version },
    });
  };

export interface AdmissionRules {
  credentials: readonly CredentialScheme[];
  rateLimit: RateLimit;
  gates: Readonly<Record<string, Gate>>;
}

/** Whether the request may go on, checked in the order that the contract fixes. Nothing of its content is looked at. */
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
    throw new ApiError("console_only", "This is for people signed in to the console, not for API keys");
}

function assertScope(scope: Exclude<Route["scope"], "public">, caller: Caller): void {
  if (scope === "any credential") return;
  const sufficient = typeof scope === "string" ? [scope] : scope;
  if (sufficient.some((one) => caller.scopes.has(one))) return;
  throw new ApiError("insufficient_scope", `This needs the scope ${sufficient.join(" or ")}`, {
    extra: { required_scope: sufficient[0] },
  });
}

function assertRole(route: Route, caller: Caller): void {
  if (!route.roles || (caller.role !== null && route.roles.includes(caller.role))) return;
  throw new ApiError("role_insufficient", `This needs the role ${route.roles.join(" or ")}`);
}
