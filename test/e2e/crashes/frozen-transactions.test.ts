import type { ServerResponse } from "node:http";
import type pg from "pg";
import t, { type Test } from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { lockRecovery } from "../../../src/store/processes/workers.ts";
import { insertMessage, insertSend } from "../../fixtures/messages/message-rows.ts";
import {
  answerAccepted,
  platformSettings,
  queueMessage,
  receivedMessages,
  startMessagePlatform,
  untilMessage,
} from "../../fixtures/messages/sending-context.ts";
import { postWebhook, statusWebhook } from "../../fixtures/platforms/webhooks.ts";
import { type RunningProcess, startProcess, startWeb } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { untilBlocked } from "../../fixtures/servers/lock-waits.ts";
import { openPatientRedis } from "../../fixtures/servers/redis.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { makeChannel, newPlatformId } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

async function openContext(t: Test) {
  const platform = await startMessagePlatform(t);
  const settings = await testSettings(t, platformSettings(platform));
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const tenant = await makeTenant({ db, config });
  const phoneNumberId = newPlatformId();
  const channelId = await makeChannel({ db, config }, tenant, { phoneNumberId });
  const redis = openPatientRedis(t, config);
  const holder = await connectRawClient(t, config.DATABASE_URL);
  return { platform, settings, config, db, tenant, channelId, phoneNumberId, redis, holder };
}

type Context = Awaited<ReturnType<typeof openContext>>;

const lockMessage = async (holder: pg.Client, id: string): Promise<void> => {
  await holder.query("begin");
  await holder.query("select from messages where id = $1 for update", [id]);
};

/** Stops the process while its statement waits for the lock of the holder: the transaction stays open. */
async function freezeInTransaction({ holder }: Context, process: RunningProcess): Promise<void> {
  await untilBlocked(holder, 1);
  process.child.kill("SIGSTOP");
  await holder.query("rollback");
}

/** Waits until no transaction has locked the send or the message. */
const untilUnlocked = ({ db }: Context, id: string): Promise<unknown> =>
  until("the locks of the stopped process end", () =>
    db
      .query(
        `select from messages m left join sends s on s.id = m.id where m.id = $1 for update of m nowait`,
        [id],
      )
      .then(
        () => true,
        () => undefined,
      ),
  );

t.test(
  "a process that freezes in a transaction keeps its locks for seconds, and goes on later",
  async (t) => {
    const context = await openContext(t);
    const { platform, settings, db, tenant, channelId, phoneNumberId, holder } = context;
    const dispatcher = startProcess(t, "dispatcher", settings);
    const web = await startWeb(t, settings);
    await dispatcher.waitForLine("process.ready");

    await t.test("while it writes the outcome of a send", async (t) => {
      let held: ServerResponse | undefined;
      const { answer } = platform;
      platform.answer = (response) => {
        held = response;
      };
      const id = await queueMessage(context);
      const response = await until("the request is open", () => held);
      await lockMessage(holder, id);
      answerAccepted(response, "wamid.frozen");
      await freezeInTransaction(context, dispatcher);
      await untilUnlocked(context, id);
      dispatcher.child.kill("SIGCONT");
      platform.answer = answer;
      await untilMessage(context, id, { status: "accepted" });
      t.equal(receivedMessages(platform).length, 1, "it was sent once");
    });

    await t.test("while it recovers", async (t) => {
      const id = newId("msg");
      await insertMessage({ db }, tenant, { id, channel_id: channelId });
      await lockMessage(holder, id);
      await insertSend({ db }, tenant, { id, channel_id: channelId, expires_at: new Date(0) });
      await freezeInTransaction(context, dispatcher);
      await until("another dispatcher may do the step", () =>
        db.transaction((tx) => lockRecovery(tx, "sends fail_expired")),
      );
      dispatcher.child.kill("SIGCONT");
      await untilMessage(context, id, { status: "failed" });
      t.pass("it continues");
    });

    await t.test("while it takes a webhook", async (t) => {
      const id = newId("msg");
      await insertMessage({ db }, tenant, { id, channel_id: channelId, platform_message_id: "wamid.1" });
      await lockMessage(holder, id);
      const status = { id: "wamid.1", status: "delivered", timestamp: `${Math.floor(Date.now() / 1000)}` };
      const webhook = JSON.stringify(statusWebhook(phoneNumberId, [{ ...status, recipient_id: "1" }]));
      const posted = postWebhook(web.address, webhook);
      await freezeInTransaction(context, web);
      await untilUnlocked(context, id);
      web.child.kill("SIGCONT");
      t.ok([200, 503].includes(await posted), "the platform repeats it after 503");
      await until("a repetition is accepted", async () => (await postWebhook(web.address, webhook)) === 200);
      await untilMessage(context, id, { status: "delivered" });
    });
  },
);
