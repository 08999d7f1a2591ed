import { join } from "node:path";
import t from "tap";
import { startPostgres } from "../../../src/local/postgres.ts";
import { freePort } from "../../../src/local/server-process.ts";
import { pageWebhook, postWebhook } from "../../fixtures/platforms/webhooks.ts";
import { createCommandRunner } from "../../fixtures/processes/command-line.ts";
import { startProcess, startWeb } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";
import { postgresProgram } from "../../fixtures/servers/programs.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

const [MESSAGES_PER_WEBHOOK, SENDER_COUNT] = [5, 12];
/** Webhooks that are accepted before each fault, and after the last one. */
const WEBHOOKS_PER_PHASE = 24;

const messageIdsOf = (number: number) =>
  Array.from({ length: MESSAGES_PER_WEBHOOK }, (_, index) => `m_${number}_${index}`);

t.test("each webhook answered with 200 is recorded once when web or Postgres is killed", async (t) => {
  const folder = makeTempFolder(t);
  // Durable, because the test checks which rows survive a crash.
  const makePostgres = (port?: number) =>
    startPostgres({
      program: postgresProgram(),
      folder: join(folder, "pg"),
      durable: true,
      ...(port ? { port } : {}),
    });
  let postgres = await makePostgres();
  t.teardown(() => postgres.stop());
  const settings = { ...(await testSettings(t)), DATABASE_URL: postgres.url };
  await startProcess(t, "migrate", settings).waitForLine("migrations.applied");
  const herald = createCommandRunner(t, settings);
  const { client_id } = (await herald(["client", "create", "--name", "c", "--json"])).json;
  const channelArgs = ["--platform", "socialapp", "--page-id", "7", "--token", "x"];
  await herald(["channel", "add", "--client", client_id, ...channelArgs]);

  const ports = [String(await freePort()), String(await freePort())];
  const webs = await Promise.all(ports.map((PORT) => startWeb(t, { ...settings, PORT })));
  let acknowledged = 0;
  /** Repeats the webhook until it is accepted, at both web processes in turn, as the platform does. */
  const postUntilAccepted = async (number: number) => {
    const body = pageWebhook("7", messageIdsOf(number));
    const send = (port: string | undefined) => postWebhook(`http://127.0.0.1:${port}`, body);
    let attempts = number;
    await until(`webhook ${number} is accepted`, async () => (await send(ports[attempts++ % 2])) === 200);
    acknowledged++;
  };
  let [webhookCount, isSending] = [0, true];
  const sender = async () => {
    while (isSending) await postUntilAccepted(webhookCount++);
  };
  const sending = Promise.all(Array.from({ length: SENDER_COUNT }, sender));

  const untilMoreAcknowledged = () => {
    const before = acknowledged;
    return until("more are acknowledged", () => acknowledged >= before + WEBHOOKS_PER_PHASE);
  };

  await untilMoreAcknowledged();
  await webs[0]?.stop("SIGKILL");
  await untilMoreAcknowledged();
  process.kill(postgres.pid, "SIGQUIT");
  await startWeb(t, { ...settings, PORT: ports[0] as string });
  await postgres.stop();
  postgres = await makePostgres(Number(new URL(postgres.url).port));
  await untilMoreAcknowledged();
  isSending = false;
  await sending;

  const raw = await connectRawClient(t, postgres.url);
  const { rows } = await raw.query(
    "select payload::json -> 'data' ->> 'platform_message_id' as mid from events join deliveries using (client_id, id)",
  );
  const expected = Array.from({ length: webhookCount }, (_, number) => messageIdsOf(number)).flat();
  t.same(rows.map(({ mid }) => mid).sort(), expected.sort());
});
