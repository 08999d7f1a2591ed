import { makeKey } from "../domain/tenants/api-keys.ts";
import { acceptTerms } from "../domain/tenants/terms.ts";
import { addUser, changePassword } from "../domain/tenants/users.ts";
import { SCOPES } from "../schema/enumerations.ts";
import { isSecretOf, parseApiKey } from "../security/api-keys.ts";
import { generatePassword } from "../security/passwords.ts";
import { applyMigrations } from "../store/database/migrations.ts";
import { findApiKeyCredential, isAlive } from "../store/tenants/api-keys.ts";
import { createClient } from "../store/tenants/clients.ts";
import { readTermsStatus } from "../store/tenants/terms.ts";
import { findUserByEmail, type UserCredentialRow } from "../store/tenants/users.ts";
import { CommandError, type Desk, type Verb, verb } from "./command.ts";
import { connectDemo } from "./demo-connections.ts";
import { operatorDeed } from "./operator.ts";

const EMAIL = "owner@example.com";
const KEY = { name: "Demo key", scopes: SCOPES, expiresAt: null, production: false };

interface Demo {
  client_id: string;
  email: string;
  password: string;
  api_key: string;
}

/**
 * What is known of it from the time before comes in DEMO_PASSWORD and DEMO_API_KEY; where that is lost or wrong, it is
 * made anew, so that whatever a start was interrupted by, the next one ends in the same place.
 */
export const DEMO_VERB: Verb = verb({
  name: "demo",
  summary: "Migrate, and make the demo client or find it again; not in production",
  options: {},
  async run(_, desk): Promise<Demo & { chat_channel_id: string | null }> {
    if (desk.config.NODE_ENV === "production")
      throw new CommandError("there is no demo client in production");
    await applyMigrations(desk.config.DATABASE_DIRECT_URL);
    const owner = await findUserByEmail(desk.db, EMAIL);
    const demo = owner ? await found(desk, owner) : await made(desk);
    await settleTerms(desk, demo.client_id);
    return { ...demo, chat_channel_id: await connectDemo(desk, demo.client_id) };
  },
});

async function made(desk: Desk): Promise<Demo> {
  const password = generatePassword();
  const passwordHash = await desk.passwords.hash(password);
  return desk.db.transaction(async (tx) => {
    const client = await createClient(tx, "Demo client");
    const deed = operatorDeed(desk, client.id);
    await addUser(tx, deed, { email: EMAIL, name: "Demo owner", role: "owner", passwordHash });
    const { text } = await makeKey(tx, deed, KEY);
    return { client_id: client.id, email: EMAIL, password, api_key: text };
  });
}

async function found(desk: Desk, owner: UserCredentialRow): Promise<Demo> {
  return {
    client_id: owner.client_id,
    email: EMAIL,
    password: await knownPassword(desk, owner),
    api_key: await knownKey(desk, owner.client_id),
  };
}

/** Accepts the terms for a client that never did. A new version its owner accepts, as everybody's must. */
async function settleTerms(desk: Desk, clientId: string): Promise<void> {
  const owner = await findUserByEmail(desk.db, EMAIL);
  if (owner?.role !== "owner" || (await readTermsStatus(desk.db, clientId)).accepted_at !== null) return;
  await desk.db.transaction((tx) => acceptTerms(tx, operatorDeed(desk, clientId), owner));
}

async function knownPassword(desk: Desk, owner: UserCredentialRow): Promise<string> {
  const { DEMO_PASSWORD: kept } = desk.env;
  if (kept && (await desk.passwords.matches(kept, owner.password_hash))) return kept;
  const password = generatePassword();
  await changePassword(desk, operatorDeed(desk, owner.client_id), { id: owner.id, password });
  return password;
}

async function knownKey(desk: Desk, clientId: string): Promise<string> {
  const { DEMO_API_KEY: kept = "" } = desk.env;
  const presented = parseApiKey(kept);
  const row = presented && (await findApiKeyCredential(desk.db, presented.id));
  const isKept = row?.client_id === clientId && isSecretOf(presented?.secret ?? "", row.secret_hash);
  if (isKept && isAlive(row)) return kept;
  const { text } = await desk.db.transaction((tx) => makeKey(tx, operatorDeed(desk, clientId), KEY));
  return text;
}
