import { signal } from "@preact/signals";
import type { MeDto, SessionDto } from "../../../sdk/src/generated/types.ts";
import { texts } from "../texts.ts";
import { call, LOGIN_PATH, Problem, toProblem, whenSignedOut } from "./api.ts";
import { navigate } from "./router.ts";

export type Scope = MeDto["scopes"][number];

/**
 * Who uses the console:
 * - `unknown`: the first request has not been answered;
 * - `signed_out`: there is no session, or it has ended; any request may lead here;
 * - `signed_in`: the server has accepted the session;
 * - `unavailable`: the first request failed for another reason.
 */
export type Session =
  | { state: "unknown" }
  | { state: "signed_out"; hasEnded: boolean }
  | { state: "signed_in"; caller: MeDto }
  | { state: "unavailable"; problem: Problem };

export const session = signal<Session>({ state: "unknown" });

/**
 * Remembers who is signed in in this browser. Without it, the first request would be refused, which is an error in the
 * browser's console. The other tabs see it change, because they share the cookie.
 */
const SIGNED_IN = "herald-signed-in";

/** Fails where the browser allows no storage; the console then asks the server each time. */
function store(value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(SIGNED_IN);
    else localStorage.setItem(SIGNED_IN, value);
  } catch {}
}

function mayBeSignedIn(): boolean {
  try {
    return localStorage.getItem(SIGNED_IN) !== null;
  } catch {
    return true;
  }
}

whenSignedOut(() => endSession(session.value.state === "signed_in"));

function endSession(hasEnded: boolean): void {
  store(null);
  session.value = { state: "signed_out", hasEnded };
}

/** Finds out who is signed in. The operator's sign-in page sets the cookie when there is an identity provider. */
export function startSession(): void {
  if (mayBeSignedIn() || identityProvider() !== "") void readSession();
  else endSession(false);
  addEventListener("storage", ({ key }) => {
    if (key === SIGNED_IN) void readSession();
  });
}

/** Asks the server who is signed in. */
export async function readSession(): Promise<void> {
  try {
    const caller = await call<MeDto>("GET", "/api/auth/me");
    session.value = { state: "signed_in", caller };
    store(identityOf(caller));
  } catch (thrown) {
    const problem = toProblem(thrown);
    if (problem.status !== 401) session.value = { state: "unavailable", problem };
  }
}

export async function signIn(email: string, password: string): Promise<void> {
  await call<SessionDto>("POST", LOGIN_PATH, { body: { email, password } });
  await readSession();
  if (session.value.state === "signed_out") throw new Problem(texts.signIn.noCookie);
}

export async function signOut(): Promise<void> {
  await call("POST", "/api/auth/logout");
  navigate("/console", { replace: true }); // the address may contain a phone number
  endSession(false);
}

/** Another identity sees other things: nothing of the former one may stay. */
export const identityOf = ({ client_id, credential }: MeDto): string => `${client_id} ${credential.id}`;

/** True when the caller's role has the scope. The server checks it again. */
export const may = (scope: Scope): boolean =>
  session.value.state === "signed_in" && session.value.caller.scopes.includes(scope);

/** True when the caller may accept terms, and manage keys and users. The server checks it again. */
export const isManager = (): boolean =>
  session.value.state === "signed_in" && ["owner", "admin"].includes(session.value.caller.role ?? "");

/** The name of the caller's client. */
export const clientName = (): string =>
  session.value.state === "signed_in" ? session.value.caller.client_name : "";

const metaContent = (name: string): string =>
  document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? "";

/** The issuer of tokens when users sign in at an identity provider; empty when they sign in here. */
export const identityProvider = (): string => metaContent("herald-identity-provider");

/** True when the platforms are simulated: recipients with certain endings then fail on purpose. */
export const isSandbox = (): boolean => metaContent("herald-sandbox") === "true";
