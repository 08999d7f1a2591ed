import type { AuditActor } from "../store/tenants/audit-log.ts";
import { findClient } from "../store/tenants/clients.ts";
import { type CommandContext, CommandError } from "./command.ts";

/** Something done to a client at the command line, as the audit log knows it. */
export const operatorActor = ({ operator }: CommandContext, clientId: string): AuditActor => ({
  clientId,
  credential: { type: "operator", id: "herald", name: operator },
  address: null,
  requestId: null,
});

/** The client that an option names. */
export async function requireClient({ db }: CommandContext, clientId: string) {
  const client = await findClient(db, clientId);
  if (!client) throw new CommandError(`there is no client ${clientId}`);
  return client;
}
