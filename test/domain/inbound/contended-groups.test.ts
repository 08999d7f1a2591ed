import t, { type Test } from "tap";
import { createWebhookIntake } from "../../../src/domain/inbound/webhook-intake.ts";
import { readWebhook } from "../../../src/platforms/webhooks/read-webhook.ts";
import { MINUTE, SECOND } from "../../../src/runtime/durations.ts";
import { openJson } from "../../../src/runtime/json/json-source.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { insertMessage, readMessageState } from "../../fixtures/messages/message-rows.ts";
import { pageWebhook, readClientEvents, statusWebhook } from "../../fixtures/platforms/webhooks.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { makeChannel, newPlatformId } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const startedApi = startApi(t);
const LOCKED_MESSAGES = 3;

/** A client whose messages another transaction has locked, and one that is not affected. */
async function setUp(t: Test, timeoutMs?: number) {
  const api = await startedApi;
  const [tenant, phoneNumberId] = [await makeTenant(api), newPlatformId()];
  const channel_id = await makeChannel(api, tenant, { phoneNumberId });
  const wamids = Array.from({ length: LOCKED_MESSAGES }, () => `wamid.${newPlatformId()}`);
  const messageIds = await Promise.all(
    wamids.map((platform_message_id) =>
      insertMessage(api, tenant, { channel_id, status: "accepted", platform_message_id }),
    ),
  );
  const locker = await connectRawClient(t, api.config.DATABASE_URL);
  await locker.query("begin");
  await locker.query("select from messages where id = any($1) for update", [messageIds]);
  const [other, pageId] = [await makeTenant(api), newPlatformId()];
  await makeChannel(api, other, { platform: "socialapp", pageId });
  const intake = createWebhookIntake({ db: api.db, notifier: { epoch: () => null, notify() {} } }, timeoutMs);
  const receive = (text: string) =>
    intake.receive({ updates: [...readWebhook(openJson(text)).updates], bytes: text.length });
  return {
    api,
    other,
    messageIds,
    unlock: () => locker.query("rollback"),
    receiveLocked: () =>
      wamids.map((id) =>
        receive(
          JSON.stringify(
            statusWebhook(phoneNumberId, [{ id, status: "delivered", timestamp: "1790000000" }]),
          ),
        ),
      ),
    receiveOther: (id: string) => receive(pageWebhook(pageId, [id])),
  };
}

t.test("only the webhooks that need a locked row wait for it", async (t) => {
  const { api, other, messageIds, unlock, receiveLocked, receiveOther } = await setUp(t, 10 * MINUTE);
  const ids = Array.from({ length: 40 }, (_, index) => `m.${index}`);
  let [acknowledged, acknowledgedLocked] = [0, 0];
  const receiveAll = (names: readonly string[]) =>
    names.map((name) =>
      receiveOther(name).then((result) => {
        acknowledged += 1;
        return result;
      }),
    );
  // Received in one turn of the event loop, all of them form one group.
  const results = receiveAll(ids.slice(0, 20));
  const locked = receiveLocked();
  for (const result of locked) void result.then(() => acknowledgedLocked++);
  results.push(...receiveAll(ids.slice(20)));
  await until("the other webhooks of the group are acknowledged", () => acknowledged === ids.length);
  results.push(...receiveAll(["m.later"]));
  await until("a later webhook is acknowledged", () => acknowledged === ids.length + 1);
  t.equal(acknowledgedLocked, 0, "the webhooks that need the locked rows wait");
  await unlock();
  for (const { counts } of await Promise.all([...results, ...locked]))
    t.match(counts, { updates: 1, recorded: 1, duplicate: 0 });
  t.equal((await readClientEvents(api, other.id)).length, ids.length + 1);
  for (const id of messageIds) t.equal((await readMessageState(api, id)).status, "delivered");
});

t.test("a webhook whose row stays locked is refused, so that the platform repeats it", async (t) => {
  const { unlock, receiveLocked, receiveOther } = await setUp(t, 5 * SECOND);
  const locked = Promise.allSettled(receiveLocked());
  t.match((await receiveOther("m.1")).counts, { recorded: 1 });
  for (const outcome of await locked)
    t.match(outcome, { status: "rejected", reason: { name: "DatabaseUnavailable" } });
  await unlock();
  // The last retry of a refused webhook may record it.
  for (const { counts } of await Promise.all(receiveLocked())) t.equal(counts.recorded + counts.duplicate, 1);
});
