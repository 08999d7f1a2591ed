import t from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createDatabase, databaseTime } from "../../../src/store/database/database.ts";
import { textBatch } from "../../fixtures/messages/batches.ts";
import { textMessage } from "../../fixtures/messages/messages.ts";
import {
  platformSettings,
  readMessage,
  receivedBodies,
  startMessagePlatform,
  untilMessage,
} from "../../fixtures/messages/sending-context.ts";
import { startProcess, startWeb, withClock } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const [HOUR_MS, TEN_MINUTES_MS] = [3_600_000, 600_000];

t.test(
  "scheduled messages wait for Postgres's clock, across a restart and with clocks that are ahead",
  async (t) => {
    const platform = await startMessagePlatform(t);
    const settings = await testSettings(t, { ...platformSettings(platform), ...withClock(HOUR_MS) });
    const config = readConfig(settings);
    const db = createDatabase(config, () => {});
    t.teardown(() => db.close());
    const tenant = await makeTenant({ db, config });
    const { headers } = await tenant.createKey("messages:send");
    const channel = await makeChannel({ db, config }, tenant);
    const [web, killed] = [await startWeb(t, settings), startProcess(t, "dispatcher", settings)];
    await killed.waitForLine("process.ready");
    const send_at = new Date((await databaseTime(db)).getTime() + TEN_MINUTES_MS).toISOString();
    const send = async (to: string): Promise<string> => {
      const json = textMessage(channel, { to, send_at });
      const { status, body } = await web.call("POST", "/api/outbound/send", { headers, json });
      t.match([status, body], [202, { status: "scheduled" }]);
      return body.message_id;
    };
    const [first, second] = [await send("5511900000001"), await send("5511900000002")];
    const batch = await web.call("POST", "/api/outbound/batches", {
      headers: { ...headers, "idempotency-key": "b1" },
      json: textBatch(channel, ["5511900000003", "5511900000004"], { send_at }),
    });
    t.match(batch, { status: 202, body: { status: "scheduled" } });
    await killed.stop("SIGKILL");
    startProcess(t, "dispatcher", settings);

    const makeDue = (id: string) => db.query("update sends set next_attempt_at = now() where id = $1", [id]);
    await makeDue(first);
    await untilMessage({ db }, first, { status: "accepted" });
    t.equal((await readMessage({ db }, second)).status, "scheduled", "its time has not come");
    const batchStatus = async () =>
      (
        await db.query<{ status: string }>("select status from batches where id = $1", [batch.body.batch_id])
      )[0]?.status;
    t.equal(await batchStatus(), "scheduled");
    await makeDue(second);
    await db.query("update batches set send_at = now()");
    await untilMessage({ db }, second, { status: "accepted" });
    await until("the batch is finished", async () => (await batchStatus()) === "finished");
    t.same(
      receivedBodies(platform)
        .map(({ to }) => to)
        .sort(),
      ["5511900000001", "5511900000002", "5511900000003", "5511900000004"],
      "each is sent once",
    );
  },
);
