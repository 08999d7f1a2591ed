import t from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { batchCalls, phones, readBatchEvents, sumOf, textBatch } from "../../fixtures/messages/batches.ts";
import {
  platformSettings,
  receivedBodies,
  startMessagePlatform,
} from "../../fixtures/messages/sending-context.ts";
import { startDispatcher } from "../../fixtures/processes/dispatcher.ts";
import { startProcess } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const MESSAGES = 300;
const SLOTS = 10;

t.test("a batch survives the death of its dispatcher: nothing is lost, nothing is sent twice", async (t) => {
  const platform = await startMessagePlatform(t);
  const settings = await testSettings(t, {
    ...platformSettings(platform),
    DISPATCHER_CONCURRENCY: String(SLOTS),
    CHANNEL_RATE_PER_SECOND: "1000",
  });
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const api = await startApi(t, { config });
  const tenant = await makeTenant(api);
  const { headers } = await tenant.createKey("messages:send");
  const batches = batchCalls(api, headers);
  const { answer } = platform;
  const people = phones(MESSAGES);
  const id = await batches.start(textBatch(await makeChannel(api, tenant), people));
  const countRows = async () => {
    const rows = await db.query<{ status: string; count: number }>(
      "select status, count(*)::integer as count from messages where batch_id = $1 group by 1",
      [id],
    );
    return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  };

  /** Lets the platform hold its answers once it has this many requests, and kills the dispatcher meanwhile. */
  const killAfter = async (requests: number) => {
    platform.answer = (response, event) => {
      if (platform.received.length > requests) platform.pauseAnswers();
      (platform.received.length > requests ? platform.answer : answer)(response, event);
    };
    const dispatcher = startProcess(t, "dispatcher", settings);
    await until("the dispatcher has open requests", () => platform.received.length > requests);
    await dispatcher.stop("SIGKILL");
    platform.answer = answer;
    platform.release();
  };
  await killAfter(100);
  await startDispatcher(t, { config });
  const { counts, finished_at } = await batches.untilBatch(id, { status: "finished" });

  t.ok(finished_at);
  const received = receivedBodies(platform).map(({ to }) => to);
  t.equal(received.length, new Set(received).size, "nothing is sent twice");
  // A request that the killed dispatcher had only begun may never reach the platform; its outcome is then unknown too.
  const unknown = await db.query<{ recipient: string }>(
    "select recipient from messages where batch_id = $1 and status = 'unknown'",
    [id],
  );
  const accounted = new Set([...received, ...unknown.map(({ recipient }) => recipient)]);
  t.same([...accounted].sort(), people, "nothing is lost");
  t.ok(counts.unknown > 0 && counts.unknown <= SLOTS, `the outcome of ${counts.unknown} is unknown`);
  t.equal(counts.accepted + counts.unknown, MESSAGES);
  t.equal(sumOf(counts), MESSAGES);
  t.same(
    await countRows(),
    { accepted: counts.accepted, unknown: counts.unknown },
    "the counts are those of the rows",
  );
  t.same(
    (await readBatchEvents({ db }, id)).map(({ status, counts }) => [status, sumOf(counts)]),
    [["finished", MESSAGES]],
  );
});
