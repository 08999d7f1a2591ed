import { randomBytes, randomInt, randomUUID } from "node:crypto";
import { join } from "node:path";
import { connectChannel } from "../../../src/domain/channels/channels.ts";
import { createKey } from "../../../src/domain/tenants/api-keys.ts";
import { processCommand } from "../../../src/local/process-commands.ts";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { createSecretBox } from "../../../src/security/secret-box.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { createClient } from "../../../src/store/tenants/clients.ts";
import { makeActor } from "../../fixtures/tenants/actors.ts";
import type { BenchCase } from "../case.ts";
import { startListeningProcess } from "../processes.ts";

/** Creates a client with an API key and a channel, as the command line does. */
async function makeTenant(settings: Record<string, string>): Promise<{ key: string; channelId: string }> {
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  try {
    const { id: clientId } = await createClient(db, "Bench");
    const actor = makeActor(clientId);
    const input = { name: "bench", scopes: ["messages:send"] as const, expiresAt: null, production: false };
    const { text: key } = await createKey(db, actor, input);
    const asset = { platform: "chatapp", phoneNumberId: "1", wabaId: "2" } as const;
    const secretBox = createSecretBox(config.ENCRYPTION_KEYS);
    const connection = await connectChannel({ db, secretBox }, actor, { asset, token: "bench" });
    if (connection.outcome === "taken") throw new Error("the channel is taken");
    return { key, channelId: connection.row.id };
  } finally {
    await db.close();
  }
}

const randomPhone = () => `55119${randomInt(10_000_000, 99_999_999)}`;

const TEXT = { body: "Your order has been shipped and will arrive on Monday." };

/** Compares the complete send endpoint with a handler that only writes. */
export const SEND: BenchCase = {
  name: "POST /api/outbound/send",
  minRatio: 1.5,
  async start(servers) {
    const settings = {
      ...servers,
      ENCRYPTION_KEYS: `bench:${randomBytes(32).toString("base64")}`,
      JWT_SECRET: randomBytes(32).toString("hex"),
      RATE_LIMIT_PER_MINUTE: "10000000",
      HOST: "127.0.0.1",
      PORT: "0",
    };
    const { key, channelId } = await makeTenant(settings);
    const logSettings = { LOG_FORMAT: "logfmt", LOG_LEVEL: "info" };
    const web = await startListeningProcess(
      processCommand(packageRoot(), "web", "node"),
      { ...settings, ...logSettings },
      /http\.listening.*port=(\d+)/,
    );
    const plain = await startListeningProcess(
      [process.execPath, join(packageRoot(), "dist/test/bench/plain-server.js")],
      servers,
      /^(\d+)$/m,
    );
    const messageBody = () => ({ channel_id: channelId, to: randomPhone(), type: "text", text: TEXT });
    return {
      ours: {
        name: "herald",
        origin: `http://127.0.0.1:${web.port}`,
        path: "/api/outbound/send",
        status: 202,
        request: () => ({
          headers: {
            "x-svc-api-key": key,
            "idempotency-key": randomUUID(),
            "content-type": "application/json",
          },
          body: JSON.stringify(messageBody()),
        }),
      },
      plain: {
        name: "plain",
        origin: `http://127.0.0.1:${plain.port}`,
        path: "/send",
        status: 202,
        request: () => ({
          headers: { "content-type": "application/json" },
          body: JSON.stringify(messageBody()),
        }),
      },
      async stop() {
        await Promise.all([web.stop(), plain.stop()]);
      },
    };
  },
};
