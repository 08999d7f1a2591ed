import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { newId } from "../../src/runtime/ids.ts";
import { startBatchContext } from "../fixtures/messages/batches.ts";
import { answerRefused } from "../fixtures/messages/sending-context.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { makeTempFolder } from "../fixtures/servers/folders.ts";
import { until } from "../fixtures/until.ts";

t.test("batches are sent, listed, paused, resumed and cancelled by the command line", async (t) => {
  const { api, platform, tenant, channelId: channel_id } = await startBatchContext(t);
  const { text: key } = await tenant.createKey("messages:send");
  const herald = createCommandRunner(t, { HERALD_URL: api.address, HERALD_API_KEY: key });
  const { answer } = platform;
  platform.answer = (response, request) =>
    JSON.parse(request.raw).to.endsWith("0000") ? answerRefused(response, 131026) : answer(response, request);
  const file = join(makeTempFolder(t), "sale.csv");
  writeFileSync(file, "to,name\n5511988887771,Ana\n5511988880000,Bo\n5511988887773,Cleo\n");
  const target = ["--channel", channel_id, "--template", "instant_sale", "--language", "pt_BR"];
  const send = (...more: string[]) => herald(["batch", "send", "--file", file, ...target, ...more]);

  const sent = await send("--wait", "--json");
  t.match(sent, { code: 0, err: /part 1 of 1: (bat_\w+)\n\1 is finished/ });
  t.match(sent.json, { accepted: 3, data: [{ status: "finished", counts: { queued: 0, sending: 0 } }] });
  const [{ batch_id: id }] = sent.json.data;
  await until(
    "a message has failed",
    async () => (await herald(`batch show ${id} --json`)).json.counts.failed === 1,
  );
  t.match((await herald(`batch show ${id}`)).out, /^status +finished$.*^counts +.*failed 1/ms);

  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  const later = await send("--send-at", sendAt, "--name", "later", "--json");
  const [{ batch_id: laterId }] = later.json.data;
  const inTable = async (args: string) => (await herald(`batch list ${args}`.trim())).out;
  t.match(
    await inTable(""),
    new RegExp(`^batch_id .*\n${laterId} +later +scheduled +3 +3 +0 .*\n${id} +sale.csv`),
  );
  t.match(await herald("batch list --limit 1"), { code: 0, err: /There are more than 1/ });
  t.equal(await inTable("--status running"), "none\n");
  t.match((await herald(`batch pause ${laterId}`)).out, /^status +paused\npause_reason +requested$/m);
  t.match(await inTable(`--status paused --channel ${channel_id}`), `${laterId}  later  paused (requested)`);
  t.match((await herald(`batch resume ${laterId} --json`)).json, { status: "scheduled" });
  t.match((await herald(`batch cancel ${laterId} --json`)).json, {
    status: "cancelled",
    counts: { cancelled: 3 },
  });
  t.match(await herald(`batch resume ${laterId}`), { code: 1, err: /409 invalid_state_transition/ });
  t.match(await herald(`batch show ${newId("bat")}`), { code: 1, err: /404 not_found/ });
  t.match(await herald("batch show bat_1"), { code: 2, err: /ID must be a complete id: bat_/ });
});
