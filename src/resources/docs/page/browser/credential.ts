interface CredentialFormParts {
  form: HTMLFormElement;
  field: HTMLInputElement;
  forget: HTMLButtonElement;
  status: HTMLElement;
  use(credential: string): Promise<void>;
}

/** Calls `use` with the credential that all requests of the page carry, or "" when there is none. */
export async function startCredentialForm({
  form,
  field,
  forget,
  status,
  use,
}: CredentialFormParts): Promise<void> {
  let used: string | undefined;

  async function apply(credential: string): Promise<void> {
    status.textContent = credential === "" ? "" : "Checking …";
    const caller = credential === "" ? undefined : await getJson<Caller>("/api/auth/me", credential);
    const accepted = caller ? credential : "";
    storeCredential(accepted);
    forget.hidden = accepted === "";
    if (accepted !== used) await use(accepted);
    used = accepted;
    if (credential !== "") status.textContent = caller ? describe(caller, credential) : REJECTED;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void apply(field.value.trim());
  });
  forget.addEventListener("click", () => {
    field.value = "";
    field.focus();
    void apply("");
  });
  field.value = storedCredential();
  await apply(field.value);
}

const REJECTED = "Herald does not accept this credential.";

function describe({ client_name, credential: { name }, scopes }: Caller, credential: string): string {
  const kind = isApiKey(credential) ? "API key" : "user";
  const count = scopes.length === 1 ? "1 scope" : `${scopes.length} scopes`;
  return `All requests use the ${kind} “${name}” of ${client_name} (${count}). The examples contain ids of this client.`;
}

/** The page's only credential. It stays in the tab's session storage until the tab is closed. */
const STORAGE_NAME = "herald-credential";

interface Caller {
  client_name: string;
  credential: { type: string; name: string };
  scopes: readonly string[];
}

const storedCredential = (): string => sessionStorage.getItem(STORAGE_NAME) ?? "";

function storeCredential(credential: string): void {
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
