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
import { conversationWebhook, postWebhook } from "../../fixtures/platforms/webhooks.ts";
import { type RunningProcess, startProcess, startWeb } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { untilBlocked } from "../../fixtures/servers/lock-waits.ts";
import { openPatientRedis } from "../../fixtures/servers/redis.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { makeChannel, newPlatformId } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

/** The person who reads a message of a page. */
const PERSON = "1001";

async function openContext(t: Test) {
  const platform = await startMessagePlatform(t);
  const settings = await testSettings(t, platformSettings(platform));
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const tenant = await makeTenant({ db, config });
  const channelId = await makeChannel({ db, config }, tenant);
  const redis = openPatientRedis(t, config);
  const holder = await connectRawClient(t, config.DATABASE_URL);
  return { platform, settings, config, db, tenant, channelId, redis, holder };
}

type Context = Awaited<ReturnType<typeof openContext>>;

const lockMessage = async (holder: pg.Client, id: string): Promise<void> => {
  await holder.query("begin");
  await holder.query("select from messages where id = $1 for update", [id]);
};

/** Stops the process while its statement waits for the holder. The statement then gets its locks, and its transaction stays open. */
async function freezeInTransaction({ db, holder }: Context, process: RunningProcess): Promise<void> {
  await untilBlocked(holder, 1);
  const [blocked] = await db.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  process.child.kill("SIGSTOP");
  await holder.query("rollback");
  await until("its transaction is idle, or was already ended", async () => {
    const [connection] = await db.query<{ state: string }>(
      "select state from pg_stat_activity where pid = $1",
      [blocked?.pid],
    );
    return !connection || connection.state === "idle in transaction";
  });
}

/** Waits until no transaction has locked the message. */
const untilUnlocked = ({ db }: Context, id: string): Promise<unknown> =>
  until("the locks of the stopped process end", () =>
    db.query("select from messages where id = $1 for update nowait", [id]).then(
      () => true,
      () => undefined,
    ),
  );

t.test(
  "a process that freezes in a transaction keeps its locks for seconds, and goes on later",
  async (t) => {
    const context = await openContext(t);
    const { platform, settings, db, tenant, channelId, holder } = context;
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
      const pageId = newPlatformId();
      const page = await makeChannel(context, tenant, { platform: "socialapp", pageId });
      const id = await insertMessage({ db }, tenant, {
        ...{ channel_id: page, platform: "socialapp", recipient: PERSON, recipient_kind: "scoped_id" },
        status: "sent",
      });
      await lockMessage(holder, id);
      const read = { sender: { id: PERSON }, recipient: { id: pageId }, read: { watermark: Date.now() } };
      const webhook = JSON.stringify(conversationWebhook("page", pageId, [read]));
      const posted = postWebhook(web.address, webhook);
      await freezeInTransaction(context, web);
      await untilUnlocked(context, id);
      web.child.kill("SIGCONT");
      t.equal(await posted, 503, "the platform repeats it");
      await until("a repetition is accepted", async () => (await postWebhook(web.address, webhook)) === 200);
      await untilMessage(context, id, { status: "read" });
    });
  },
);
