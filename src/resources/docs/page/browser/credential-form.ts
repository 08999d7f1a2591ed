import { byId } from "./by-id.ts";
import { type Caller, getJson, isApiKey, storeCredential, storedCredential } from "./credential.ts";

/** Calls `use` with the credential that all requests of the page carry, or "" when there is none. */
export async function startCredentialForm(use: (credential: string) => Promise<void>): Promise<void> {
  const form = byId<HTMLFormElement>("credential-form");
  const field = byId<HTMLInputElement>("credential");
  const forget = byId<HTMLButtonElement>("forget");
  const status = byId("credential-status");

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
