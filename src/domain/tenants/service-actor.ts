import type { Deed } from "../../store/tenants/audit-log.ts";

/** What happens to a client without anybody of theirs having done it. */
export const serviceDeed = (clientId: string): Deed => ({
  caller: { clientId, credential: { type: "service", id: "herald", name: "Herald" } },
});
