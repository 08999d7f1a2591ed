import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import {
  platformSettings,
  queueMessage,
  queueMessages,
  receivedBodies,
  startMessagePlatform,
  untilMessage,
} from "../../fixtures/messages/sending-context.ts";
import { createCommandRunner } from "../../fixtures/processes/command-line.ts";
import { startDispatcher } from "../../fixtures/processes/dispatcher.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { runPostgresClient } from "../../fixtures/servers/programs.ts";
import { openPatientRedis } from "../../fixtures/servers/redis.ts";
import { allocateRedisDatabase, cloneDatabase } from "../../fixtures/servers/servers.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

t.test("a backup from before a send is restored without a second send", async (t) => {
  const platform = await startMessagePlatform(t);
  const settings = await testSettings(t, platformSettings(platform));
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  const redis = openPatientRedis(t, config);
  t.teardown(() => db.close());
  const tenant = await makeTenant({ db, config });
  const channelId = await makeChannel({ db, config }, tenant);
  const recipients = ["5511900000001", "5511900000002"];
  const ids = await queueMessages({ db, redis }, { tenant, channelId }, ...recipients.map((to) => ({ to })));

  const folder = mkdtempSync(join(tmpdir(), "herald-backup-"));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const backup = join(folder, "backup");
  await runPostgresClient("pg_dump", "--format=custom", `--file=${backup}`, config.DATABASE_URL);
  const restored = await cloneDatabase(t, "template0");
  await runPostgresClient("pg_restore", "--no-owner", "--single-transaction", `--dbname=${restored}`, backup);
  /** Settings with a copy of the restored database and an empty Redis. */
  const restoredSettings = async () => ({
    ...settings,
    DATABASE_URL: await cloneDatabase(t, new URL(restored).pathname.slice(1)),
    REDIS_URL: await allocateRedisDatabase(),
  });
  const sentTo = () =>
    receivedBodies(platform)
      .map(({ to }) => to)
      .sort();
  const original = await startDispatcher(t, { config });
  for (const id of ids) await untilMessage({ db }, id, { status: "accepted" });
  await original.stop();
  t.same(sentTo(), recipients);

  t.test("without a hold the messages are sent again", async (t) => {
    const dispatcher = await startDispatcher(t, { config: readConfig(await restoredSettings()) });
    for (const id of ids) await untilMessage(dispatcher, id, { status: "accepted" });
    t.same(sentTo(), [...recipients, ...recipients].sort());
    await dispatcher.stop();
  });

  t.test("held and discarded as documented, only new messages are sent", async (t) => {
    platform.received.length = 0;
    const restoredEnv = await restoredSettings();
    const herald = createCommandRunner(t, restoredEnv);
    const restoredAt = new Date();
    await herald("queue hold");
    const dispatcher = await startDispatcher(t, { config: readConfig(restoredEnv) });
    await until("it notices the hold", () => dispatcher.lines.some(({ event }) => event === "queue.held"));
    const fresh = await queueMessage({ ...dispatcher, tenant, channelId }, { to: "5511900000003" });
    const { json } = await herald(
      `queue discard-sends --client ${tenant.id} --before ${restoredAt.toISOString()} --yes --json`,
    );
    t.same(json, { discarded: ids.length });
    await herald("queue release");
    await untilMessage(dispatcher, fresh, { status: "accepted" });
    for (const id of ids) await untilMessage(dispatcher, id, { status: "failed" });
    t.same(sentTo(), ["5511900000003"]);
  });
});
