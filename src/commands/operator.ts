import type { Deed } from "../store/tenants/audit-log.ts";
import { findClient } from "../store/tenants/clients.ts";
import { CommandError, type Desk } from "./command.ts";

/** Something done to a client at the command line, as the audit log knows it. */
export const operatorDeed = ({ operator }: Desk, clientId: string): Deed => ({
  caller: { clientId, credential: { type: "operator", id: "herald", name: operator } },
});

/** The client that an option names. */
export async function clientNamed({ db }: Desk, clientId: string) {
  const client = await findClient(db, clientId);
  if (!client) throw new CommandError(`there is no client ${clientId}`);
  return client;
}
