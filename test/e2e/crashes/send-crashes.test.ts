import t from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { type SandboxApi, startSandboxApi } from "../../fixtures/processes/local-cluster.ts";
import { startProcess } from "../../fixtures/processes/processes.ts";
import { compareFigures, rollUp } from "../../fixtures/stats/figures.ts";
import { until } from "../../fixtures/until.ts";

/** Counts the requests to send a message to this person. */
const countSendsTo = async ({ requests }: SandboxApi, to: string): Promise<number> =>
  (await requests()).filter(({ path, body }) => path.endsWith("/messages") && body?.to === to).length;

t.test("a killed dispatcher's messages are each sent once and counted once", async (t) => {
  const cluster = await startSandboxApi(t, { CHANNEL_RATE_PER_SECOND: "1" });
  const { callApi, arm } = cluster;
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
  startProcess(t, "dispatcher", cluster.settings);

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
  const config = readConfig(cluster.settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  await db.query("update sends set next_attempt_at = now() where id = $1", [droppedId]); // as if ten minutes had passed
  const failed = await untilStatus(droppedId, "failed");
  t.match(failed.error, { code: "outcome_unknown" });
  t.equal(await countSendsTo(cluster, "5511922220002"), 1);

  await rollUp({ db, config });
  const { stored, counted } = await compareFigures({ db });
  t.same(stored.messages, counted.messages, "the statistics of each hour and channel count all rows");
  const { totals } = (await callApi("GET", "/api/stats/messages")).body;
  t.same(totals, { accepted: 5, sent: 4, failed: 1, unknown: 0, waiting: 0 });
});
