import type { ServerResponse } from "node:http";
import t, { type Test } from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { holdMarks, lockMarks } from "../../fixtures/messages/held-marks.ts";
import {
  answerAccepted,
  platformSettings,
  queueMessage,
  queueMessages,
  readMessage,
  receivedMessages,
  startMessagePlatform,
  untilMessage,
} from "../../fixtures/messages/sending-context.ts";
import { startDispatcher } from "../../fixtures/processes/dispatcher.ts";
import { type SandboxApi, startSandboxApi } from "../../fixtures/processes/local-cluster.ts";
import { startProcess } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { untilBlocked } from "../../fixtures/servers/lock-waits.ts";
import { openPatientRedis } from "../../fixtures/servers/redis.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { startTcpProxy } from "../../fixtures/servers/tcp-proxy.ts";
import { compareFigures, rollUp } from "../../fixtures/stats/figures.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

/** Counts the requests to send a message to this person. */
const countSendsTo = async ({ requests }: SandboxApi, to: string): Promise<number> =>
  (await requests()).filter(({ path, body }) => path.endsWith("/messages") && body?.to === to).length;

async function testCounts(t: Test): Promise<void> {
  const cluster = await startSandboxApi(t, { CHANNEL_RATE_PER_SECOND: "1" });
  const { callApi, arm } = cluster;
  const config = readConfig(cluster.settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const channels = (await callApi("GET", "/api/channels?platform=chatapp")).body.data;
  const sendText = async (to: string) => {
    const body = { channel_id: channels[0].channel_id, to, type: "text", text: { body: "Hi" } };
    const { status, body: queued } = await callApi("POST", "/api/outbound/send", body);
    t.equal(status, 202);
    return queued.message_id as string;
  };
  const read = async (id: string) => (await callApi("GET", `/api/outbound/messages/${id}`)).body;
  const untilStatus = (id: string, ...expected: string[]) =>
    until(`${id} is ${expected}`, async () => {
      const message = await read(id);
      return expected.includes(message.status) ? message : undefined;
    });

  const recipients = ["5511911110001", "5511911110002", "5511911110003"] as const;
  const firstRecipient = "5511922220001";

  // The first request gets no answer before the kill; the others wait for their rate slots, one a second.
  await arm({
    match: { method: "POST", path_prefix: "/v26.0/1400000000000301/messages" },
    kind: "delay",
    times: 1,
    ms: 10_000,
  });
  const killed = startProcess(t, "dispatcher", cluster.settings);
  const unansweredId = await sendText(firstRecipient);
  await until("the first request is open", async () => (await countSendsTo(cluster, firstRecipient)) === 1);
  const queuedIds = await Promise.all(recipients.map(sendText));
  await killed.stop("SIGKILL");
  // On a slow machine some were sent before the kill.
  for (const id of queuedIds)
    t.match((await read(id)).status, /^(queued|sending|sent|accepted|delivered|read)$/);
  await startDispatcher(t, { config });

  for (const [index, id] of queuedIds.entries()) {
    const message = await untilStatus(id, "delivered", "read");
    t.equal(await countSendsTo(cluster, recipients[index] as string), 1, "sent once");
    t.equal(message.error, null);
  }
  const resolved = await untilStatus(unansweredId, "delivered", "read");
  t.equal(
    await countSendsTo(cluster, firstRecipient),
    1,
    "a started request is not repeated: the status webhook decides its outcome",
  );
  t.match(resolved.statuses.map(({ status }: { status: string }) => status).at(-1), /delivered|read/);

  // The platform drops a request and never reports the message.
  await arm({
    match: { method: "POST", path_prefix: "/v26.0/1400000000000301/messages" },
    kind: "drop_before",
    times: 1,
  });
  const droppedId = await sendText("5511922220002");
  await untilStatus(droppedId, "unknown");
  await db.query("update sends set next_attempt_at = now() where id = $1", [droppedId]); // as if ten minutes had passed
  const failed = await untilStatus(droppedId, "failed");
  t.match(failed.error, { code: "outcome_unknown" });
  t.equal(await countSendsTo(cluster, "5511922220002"), 1);

  await rollUp({ db, config });
  const { stored, counted } = await compareFigures({ db });
  t.same(stored.messages, counted.messages, "the statistics of each hour and channel count all rows");
  const { totals } = (await callApi("GET", "/api/stats/messages")).body;
  t.same(totals, { accepted: 5, sent: 4, failed: 1, unknown: 0, cancelled: 0, waiting: 0 });
}

const PEOPLE = ["5511933330001", "5511933330002", "5511933330003", "5511933330004", "5511933330005"] as const;

/** Stops one dispatcher with a message at each line of the life of a send, kills it, and starts another one. */
async function testLines(t: Test): Promise<void> {
  const [accepted, claimed, marked, open, answered] = PEOPLE;
  const platform = await startMessagePlatform(t);
  const held = new Map<string, ServerResponse>();
  const { answer } = platform;
  platform.answer = (response, { raw }) => void held.set(JSON.parse(raw).to, response);
  const settings = await testSettings(t, platformSettings(platform));
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  await holdMarks(db);
  const redis = openPatientRedis(t, config);
  const tenant = await makeTenant({ db, config });
  const context = { db, redis, tenant, channelId: await makeChannel({ db, config }, tenant) };
  const postgres = await startTcpProxy(t, settings.DATABASE_URL as string);
  const killed = startProcess(t, "dispatcher", { ...settings, DATABASE_URL: postgres.url });
  await killed.waitForLine("process.ready");
  const [row, mark] = [
    await connectRawClient(t, config.DATABASE_URL),
    await connectRawClient(t, config.DATABASE_URL),
  ];

  const openIds = await queueMessages(context, context, { to: open }, { to: open });
  const answeredId = await queueMessage(context, { to: answered });
  await until("two requests are open", () => held.size === 2);
  await row.query("begin");
  await row.query("select from sends where id = $1 for update", [answeredId]);
  answerAccepted(held.get(answered) as ServerResponse, "wamid.answered");
  await untilBlocked(row, 1); // the outcome
  await lockMarks(mark, [marked]);
  const markedId = await queueMessage(context, { to: marked });
  await untilBlocked(row, 2);
  const claimedId = await queueMessage(context, { to: claimed });
  await untilMessage(context, claimedId, { state: "claimed" }); // its mark waits for the one before
  postgres.freeze(); // the dispatcher does not learn that the mark is written
  await mark.query("select pg_advisory_unlock_all()");
  await until("the mark is written", async () => {
    const rows = await db.query("select 1 from sends where id = $1 and sending_at is not null", [markedId]);
    return rows.length === 1;
  });
  const acceptedId = await queueMessage(context, { to: accepted });
  await redis.del("{18}:outbound");
  await killed.stop("SIGKILL");
  postgres.stop();
  await row.query("rollback");
  t.equal(held.size, 2, "no other request was made");

  platform.answer = answer;
  await startDispatcher(t, { config });
  const [openId = "", behindId = ""] = openIds;
  for (const id of [acceptedId, claimedId, behindId]) await untilMessage(context, id, { status: "accepted" });
  for (const id of [markedId, openId, answeredId]) await untilMessage(context, id, { status: "unknown" });
  const received = receivedMessages(platform).map(({ id }) => id);
  const counts = [acceptedId, claimedId, markedId, openId, behindId, answeredId].map(
    (id) => received.filter((other) => other === id).length,
  );
  t.same(counts, [1, 1, 0, 1, 1, 1]);
  t.match(await readMessage(context, claimedId), { attempts: 1 });
}

t.test("a dispatcher is killed", async (t) => {
  t.jobs = 2; // mostly waiting; each has a database of its own
  t.test("its messages are each sent once and counted once", testCounts);
  t.test("a message whose mark was not written is sent again, any other one is unknown", testLines);
});
