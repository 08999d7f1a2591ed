/** The page's only credential. It stays in the tab's session storage until the tab is closed. */
const STORAGE_NAME = "herald-credential";

export interface Caller {
  client_name: string;
  credential: { type: string; name: string };
  scopes: readonly string[];
}

export const storedCredential = (): string => sessionStorage.getItem(STORAGE_NAME) ?? "";

export function storeCredential(credential: string): void {
  if (credential === "") sessionStorage.removeItem(STORAGE_NAME);
  else sessionStorage.setItem(STORAGE_NAME, credential);
}

export const isApiKey = (credential: string): boolean => credential.startsWith("svc_");

/** Calls the service that serves this page; undefined when it does not answer with 200. */
export async function getJson<T>(path: string, credential: string): Promise<T | undefined> {
  const headers: Record<string, string> = isApiKey(credential)
    ? { "x-svc-api-key": credential }
    : { authorization: `Bearer ${credential}` };
  try {
    const reply = await fetch(serviceUrl() + path, { headers, credentials: "omit" });
    return reply.ok ? ((await reply.json()) as T) : undefined;
  } catch {
    return undefined; // no connection, or a credential that is not a valid header value
  }
}

/** The base URL of the service that serves this page: requests must stay on its origin. */
export const serviceUrl = (): string => new URL("..", window.location.href).href.replace(/\/$/, "");
