import { createKey } from "../../../src/domain/tenants/api-keys.ts";
import type { Scope } from "../../../src/schema/enumerations.ts";
import { createClient } from "../../../src/store/tenants/clients.ts";
import { makeActor } from "../../fixtures/tenants/actors.ts";
import type { BenchContext } from "./context.ts";

/** Creates a client with an API key, as the command line does. */
export async function makeClient({ db }: BenchContext, scopes: readonly [Scope, ...Scope[]]) {
  const { id } = await createClient(db, "Bench");
  const actor = makeActor(id);
  const { text: key } = await createKey(db, actor, {
    name: "bench",
    scopes,
    expiresAt: null,
    production: false,
  });
  return { id, actor, key };
}
