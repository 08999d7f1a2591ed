import type { ServerResponse } from "node:http";
import t from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { applyMigrations } from "../../../src/store/database/migrations.ts";
import { times } from "../../fixtures/events/deliveries.ts";
import { holdMarks, lockMarks } from "../../fixtures/messages/held-marks.ts";
import {
  answerAccepted,
  platformSettings,
  queueMessages,
  readMessage,
  receivedMessages,
  startMessagePlatform,
} from "../../fixtures/messages/sending-context.ts";
import { startDispatcher } from "../../fixtures/processes/dispatcher.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { startCrashingPostgres } from "../../fixtures/servers/crashing-postgres.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { startTcpProxy } from "../../fixtures/servers/tcp-proxy.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const MESSAGES = 6;

t.test("a message is sent once when Postgres crashes", async (t) => {
  const postgres = await startCrashingPostgres(t);
  await applyMigrations(postgres.url);
  const platform = await startMessagePlatform(t);
  const { answer } = platform;
  const settings = await testSettings(t, { ...platformSettings(platform), DATABASE_URL: postgres.url });
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  await holdMarks(db);
  const tenant = await makeTenant({ db, config });
  const channelId = await makeChannel({ db, config }, tenant);
  const proxy = await startTcpProxy(t, postgres.url);
  const proxied = readConfig({ ...settings, DATABASE_URL: proxy.url });
  const { redis } = await startDispatcher(t, { config: proxied });
  await startDispatcher(t, { config: proxied });
  let lastPerson = 5511900000000;
  const newPeople = () => times(MESSAGES, () => String(++lastPerson));
  const queue = (people: readonly string[]) =>
    queueMessages({ db, redis }, { tenant, channelId }, ...people.map((to) => ({ to })));
  const countRows = async (ids: readonly string[], condition: string) =>
    (await db.query(`select 1 from sends where id = any($1) and ${condition}`, [ids])).length;
  /** The dispatchers write nothing more, which would save what is in memory, and reach Postgres again after `thaw`. */
  const crash = async () => {
    proxy.freeze();
    await postgres.kill();
  };
  /** Waits until each message has an outcome; returns the number of its requests and its status. */
  const untilOutcomes = (ids: readonly string[]) =>
    until("all messages have an outcome", async () => {
      const rows = await Promise.all(ids.map((id) => readMessage({ db }, id)));
      if (rows.some(({ status }) => status === "queued")) return undefined;
      const received = receivedMessages(platform).map(({ id }) => id);
      return rows.map(({ status }, index) => {
        const requests = received.filter((id) => id === ids[index]);
        return `${requests.length} ${status}`;
      });
    });

  t.test("between its mark and its outcome", async (t) => {
    const held: ServerResponse[] = [];
    platform.answer = (response) => void held.push(response);
    const ids = await queue(newPeople());
    await until("the requests are open", () => held.length === MESSAGES);
    await crash();
    platform.answer = answer;
    const accept = (response: ServerResponse) => answerAccepted(response, "wamid.open");
    held.splice(0, 2).forEach(accept); // while Postgres is away
    held.shift()?.destroy();
    await postgres.restart();
    t.equal(await countRows(ids, "sending_at is not null"), MESSAGES, "the marks are on the disk");
    proxy.thaw();
    held.forEach(accept);
    for (const outcome of await untilOutcomes(ids)) t.match(outcome, /^1 (accepted|unknown)$/);
  });

  t.test("between its claim and its mark", async (t) => {
    // A heartbeat between the claims and the crash saves the claims: then Postgres crashes once more.
    await until("claims are lost", async () => {
      const locker = await connectRawClient(t, postgres.url);
      const people = newPeople();
      await lockMarks(locker, people);
      const ids = await queue(people);
      const countClaimed = () => countRows(ids, "state = 'claimed'");
      await until("the messages are claimed", async () => (await countClaimed()) === MESSAGES);
      await crash();
      await postgres.restart();
      const claimed = await countClaimed();
      proxy.thaw();
      t.same(await untilOutcomes(ids), Array(MESSAGES).fill("1 accepted"));
      return claimed < MESSAGES;
    });
  });
});
