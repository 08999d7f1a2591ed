import { randomInt, randomUUID } from "node:crypto";
import { join } from "node:path";
import { connectChannel } from "../../../src/domain/channels/channels.ts";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { createSecretBox } from "../../../src/security/secret-box.ts";
import { throughputCase } from "../case.ts";
import { type BenchClient, makeClient, startWeb, webSettings } from "../herald.ts";
import { startListeningProcess } from "../processes.ts";

/** Connects a channel and returns its id. */
async function makeChannel({ db, config, actor }: BenchClient): Promise<string> {
  const asset = { platform: "chatapp", phoneNumberId: "1", wabaId: "2" } as const;
  const secretBox = createSecretBox(config.ENCRYPTION_KEYS);
  const connection = await connectChannel({ db, secretBox }, actor, { asset, token: "bench" });
  if (connection.outcome === "taken") throw new Error("the channel is taken");
  return connection.row.id;
}

const randomPhone = () => `55119${randomInt(10_000_000, 99_999_999)}`;

const TEXT = { body: "Your order has been shipped and will arrive on Monday." };

/** Compares the complete send endpoint with a handler that only writes. */
export const SEND = throughputCase({
  name: "POST /api/outbound/send",
  minRatio: 1.5,
  async start(servers) {
    const settings = webSettings(servers);
    const { key, filled: channelId } = await makeClient(settings, ["messages:send"], makeChannel);
    const web = await startWeb(settings);
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
});
