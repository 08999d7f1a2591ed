import { generateSecret } from "../../../src/domain/tenants/webhook-configs.ts";
import { createSecretBox } from "../../../src/security/secret-box.ts";
import { createClient } from "../../../src/store/tenants/clients.ts";
import { configureWebhook } from "../../fixtures/events/events.ts";
import { makeActor } from "../../fixtures/tenants/actors.ts";
import type { BenchContext } from "../frame/context.ts";
import type { Receiver } from "../programs/receiver.ts";

/** A client and where its events go. */
export interface Destination {
  clientId: string;
  url: string;
  secret: string;
}

/** How the backend answers a destination. */
export type BackendMode = "ok" | "slow" | "hang" | "error" | "drip";

/** Loopback addresses of the destinations: each client has an origin of its own. */
const addressOf = (number: number) => `127.0.${1 + Math.floor(number / 250)}.${1 + (number % 250)}`;

/** Creates clients of Herald whose backends answer in these modes. */
export async function makeDestinations(
  { db, config }: BenchContext,
  { port }: Pick<Receiver, "port">,
  modes: readonly BackendMode[],
): Promise<Destination[]> {
  const secretBox = createSecretBox(config.ENCRYPTION_KEYS);
  return Promise.all(
    modes.map(async (mode, index) => {
      const client = await createClient(db, `Bench ${index}`);
      const url = `http://${addressOf(index)}:${port}/${mode}`;
      await configureWebhook({ db }, client, { url });
      const secret = await generateSecret({ db, secretBox }, makeActor(client.id), 0);
      return { clientId: client.id, url, secret };
    }),
  );
}

export const clientIdsOf = (destinations: readonly Destination[]): string[] =>
  destinations.map(({ clientId }) => clientId);
