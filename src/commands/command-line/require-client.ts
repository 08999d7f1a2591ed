import { findClient } from "../../store/tenants/clients.ts";
import { type CommandContext, CommandError } from "./command.ts";

/** Returns the client; throws a CommandError if it does not exist. */
export async function requireClient(
  { db }: CommandContext,
  clientId: string,
  options?: Parameters<typeof findClient>[2],
) {
  const client = await findClient(db, clientId, options);
  if (!client) throw new CommandError(`there is no client ${clientId}`);
  return client;
}
