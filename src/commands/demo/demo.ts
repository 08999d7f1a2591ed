import { createKey } from "../../domain/tenants/api-keys.ts";
import { acceptTerms } from "../../domain/tenants/terms.ts";
import { changePassword, createClientWithOwner } from "../../domain/tenants/users.ts";
import { SCOPES } from "../../schema/enumerations.ts";
import { isMatchingSecret, parseApiKey } from "../../security/api-keys.ts";
import { generatePassword } from "../../security/passwords.ts";
import { applyMigrations } from "../../store/database/migrations.ts";
import { findApiKeyCredential, isActiveApiKey } from "../../store/tenants/api-keys.ts";
import { readTermsStatus } from "../../store/tenants/terms.ts";
import { findUserByEmail, type UserCredentialRow } from "../../store/tenants/users.ts";
import {
  type Command,
  type CommandContext,
  CommandError,
  defineCommand,
  overloadedError,
} from "../program/command.ts";
import { operatorActor } from "../program/operator.ts";
import { connectDemo, type DemoConnections } from "./demo-connections.ts";

const EMAIL = "owner@example.com";
const KEY_INPUT = { name: "Demo key", scopes: SCOPES, expiresAt: null, production: false };

interface Demo extends DemoConnections {
  client_id: string;
  email: string;
  password: string;
  api_key: string;
}

/**
 * Keeps the password and key that DEMO_PASSWORD and DEMO_API_KEY carry from the last start, and replaces them where they
 * are missing or no longer valid: an interrupted start is completed by the next one.
 */
export const DEMO_COMMAND: Command = defineCommand({
  name: "demo",
  summary: "Apply migrations and create or find the demo client; not in production",
  options: {},
  async run(_, context): Promise<Demo> {
    if (context.config.NODE_ENV === "production")
      throw new CommandError("there is no demo client in production");
    await applyMigrations(context.config.DATABASE_DIRECT_URL);
    const { client_id, password } = await ensureClient(context);
    const api_key = await ensureKey(context, client_id);
    await acceptDemoTerms(context, client_id);
    const connections = await connectDemo(context, client_id);
    return { client_id, email: EMAIL, password, api_key, ...connections };
  },
});

/** Creates the client and its owner in one transaction: the next start finds both by the owner's email. */
async function ensureClient(context: CommandContext): Promise<Pick<Demo, "client_id" | "password">> {
  const owner = await findUserByEmail(context.db, EMAIL);
  if (owner) return { client_id: owner.client_id, password: await ensurePassword(context, owner) };
  const password = generatePassword();
  const created = await createClientWithOwner(context, {
    name: "Demo client",
    owner: { email: EMAIL, name: "Demo owner", password },
    actorOf: (clientId) => operatorActor(context, clientId),
  });
  switch (created.outcome) {
    case "created":
      return { client_id: created.client.id, password };
    case "email_taken":
      throw new CommandError("another process has just created the demo client; run this again");
    case "overloaded":
      throw overloadedError();
  }
}

/** Accepts the terms once. The demo owner accepts later versions like every other owner. */
async function acceptDemoTerms(context: CommandContext, clientId: string): Promise<void> {
  const owner = await findUserByEmail(context.db, EMAIL);
  if (owner?.role !== "owner" || (await readTermsStatus(context.db, clientId)).accepted_at !== null) return;
  await acceptTerms(context.db, operatorActor(context, clientId), owner);
}

async function ensurePassword(context: CommandContext, owner: UserCredentialRow): Promise<string> {
  const { DEMO_PASSWORD: storedPassword } = context.env;
  if (storedPassword) {
    const { outcome } = await context.passwords.check(storedPassword, owner.password_hash);
    if (outcome === "matches") return storedPassword;
    if (outcome === "overloaded") throw overloadedError();
  }
  const password = generatePassword();
  const input = { id: owner.id, password };
  const { outcome } = await changePassword(context, operatorActor(context, owner.client_id), input);
  if (outcome === "overloaded") throw overloadedError();
  if (outcome === "not_found")
    throw new CommandError("the demo client's owner has just been deleted; run this again");
  return password;
}

async function ensureKey(context: CommandContext, clientId: string): Promise<string> {
  const { DEMO_API_KEY: storedKey = "" } = context.env;
  const presented = parseApiKey(storedKey);
  const row = presented && (await findApiKeyCredential(context.db, presented.id));
  const isOwnKey = row?.client_id === clientId && isMatchingSecret(presented?.secret ?? "", row.secret_hash);
  if (isOwnKey && isActiveApiKey(row)) return storedKey;
  const { text } = await createKey(context.db, operatorActor(context, clientId), KEY_INPUT);
  return text;
}
