import type { AuditActor } from "../../store/tenants/audit-log.ts";
import { findClient } from "../../store/tenants/clients.ts";
import { type CommandContext, CommandError } from "./command.ts";

/** The actor of a command in the audit log. */
export const operatorActor = ({ operator }: CommandContext, clientId: string): AuditActor => ({
  clientId,
  credential: { type: "operator", id: "herald", name: operator },
  address: null,
  requestId: null,
});

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

/** Asks the operator to type the client's name; throws a CommandError if it does not match. */
export async function confirmWithName(
  { say, readLine }: CommandContext,
  name: string,
  { warning, refusal }: { warning: string; refusal: string },
): Promise<void> {
  say(`${warning} Type the client's name to confirm:`);
  const line = await readLine();
  if (line === "") throw new CommandError(`the name must be typed, or --yes given; ${refusal}`);
  if (line !== name) throw new CommandError(`the name does not match; ${refusal}`);
}

/** Tells the operator that a list has more rows than it shows. */
export const sayMore = ({ say }: CommandContext, limit: number): void =>
  say(`There are more than ${limit}: add filters or raise --limit`);
