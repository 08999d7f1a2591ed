import t from "tap";
import { createMessageIntake } from "../../../src/domain/messages/accept-message.ts";
import type { OutboundKey } from "../../../src/queue/wake-ups.ts";
import { MINUTE, SECOND } from "../../../src/runtime/durations.ts";
import { newId, uuidOf } from "../../../src/runtime/ids.ts";
import { DatabaseUnavailable } from "../../../src/store/database/faults.ts";
import type { NewMessage } from "../../../src/store/messages/accept-messages.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { readRows } from "../../fixtures/messages/messages.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant, type Tenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

let lastPhone = 5511900000000;

/** A message to accept, with a key if one is given; each has another recipient by default. */
const newMessage = (tenant: Tenant, channel: string, change: Partial<NewMessage> & { key?: string } = {}) => {
  const { key, ...columns } = change;
  return {
    client_id: tenant.id,
    id: newId("msg"),
    channel_id: channel,
    recipient: String(++lastPhone),
    recipient_kind: "phone",
    type: "text",
    content: '{"body":"Hi"}',
    options: null,
    external_ref: null,
    request_id: "req_1",
    send_at: null,
    status: "queued" as const,
    key_id: key === undefined ? null : uuidOf(`${tenant.id} ${key}`),
    fingerprint: key === undefined ? null : uuidOf("the body"),
    reply_sealed: key === undefined ? null : "sealed",
    ...columns,
  };
};

interface IntakeOptions {
  api: Api;
  before?: (text: string) => Promise<void>;
  timeoutMs?: number;
}

/** An intake with the statements it ran and the refs it notified. Its timeout is long, for slow machines. */
function openIntake({ api, before, timeoutMs = 2 * MINUTE }: IntakeOptions) {
  const watched = watchStatements(before);
  const notified: OutboundKey[] = [];
  const notifier = { notify: (keys: Iterable<OutboundKey>) => void notified.push(...keys) };
  const intake = createMessageIntake({ db: watched.database(api.db), notifier, timeoutMs });
  return { intake, notified, statements: watched.statements };
}

const ACCEPTED = { outcome: "accepted" };
const PHONE = "5511988887777";

t.test("the message intake", async (t) => {
  const api = await startApi(t);
  const setUpChannel = async () => {
    const tenant = await makeTenant(api);
    return { tenant, channel: await makeChannel(api, tenant) };
  };

  t.test("concurrent messages of all clients are inserted by one statement and notified", async (t) => {
    const { intake, notified, statements } = openIntake({ api });
    const setups = await Promise.all([setUpChannel(), setUpChannel(), setUpChannel()]);
    const messages = Array.from({ length: 60 }, (_, index) => {
      const { tenant, channel } = setups[index % 3] as (typeof setups)[0];
      return newMessage(tenant, channel, index % 2 ? { key: `k${index}` } : {});
    });
    const results = await Promise.all(messages.map((message) => intake.accept(message)));
    t.ok(results.every(({ outcome }) => outcome === "accepted"));
    t.equal(statements.length, 1);
    const channelsOf = (items: readonly { channelId: string }[]) =>
      [...new Set(items.map(({ channelId }) => channelId))].sort();
    t.same(channelsOf(notified), channelsOf(setups.map(({ channel }) => ({ channelId: channel }))));
    for (const { tenant } of setups) {
      t.equal((await readRows(api, "messages", tenant)).length, 20);
      t.equal((await readRows(api, "sends", tenant)).length, 20);
      t.equal((await readRows(api, "idempotency_keys", tenant)).length, 10);
    }
  });

  t.test("concurrent statements and the size of each batch are limited", async (t) => {
    let [running, maxRunning] = [0, 0];
    const { intake, statements } = openIntake({
      api,
      before: async () => {
        running += 1;
        maxRunning = Math.max(maxRunning, running);
        await new Promise((resolve) => setTimeout(resolve, 20));
        running -= 1;
      },
    });
    const { tenant, channel } = await setUpChannel();
    const large = JSON.stringify({ body: "x".repeat(600_000) });
    const messages = [
      ...Array.from({ length: 3 }, () => newMessage(tenant, channel, { content: large })),
      ...Array.from({ length: 450 }, () => newMessage(tenant, channel)),
    ];
    await Promise.all(messages.map((message) => intake.accept(message)));
    t.equal((await readRows(api, "messages", tenant)).length, 453);
    t.ok(maxRunning > 1 && maxRunning < 4, `${maxRunning} at once`);
    t.ok(statements.length >= 5 && statements.length < 12, `${statements.length} statements`);
    const rows = await api.db.query<{ id: string }>(
      "select id from sends where client_id = $1 order by place",
      [tenant.id],
    );
    t.equal(rows.length, 453);
  });

  t.test("a message to a person waits for earlier ones on the same channel", async (t) => {
    const { intake, notified } = openIntake({ api });
    const { tenant, channel } = await setUpChannel();
    const sendToPhone = () => intake.accept(newMessage(tenant, channel, { recipient: PHONE }));
    await Promise.all([sendToPhone(), sendToPhone()]);
    await sendToPhone();
    await intake.accept(newMessage(tenant, await makeChannel(api, tenant), { recipient: PHONE }));
    const rows = await readRows(api, "sends", tenant);
    t.same(
      rows.map(({ state }) => state),
      ["waiting", "behind", "behind", "waiting"],
    );
    t.same(
      notified.map(({ channelId }) => channelId),
      rows.filter(({ state }) => state === "waiting").map(({ channel_id }) => channel_id),
      "one that waits for another wakes no dispatcher",
    );
  });

  t.test("each refused message gets its own reason, and the others are accepted", async (t) => {
    const { intake, notified, statements } = openIntake({ api });
    const [{ tenant, channel }, other] = await Promise.all([setUpChannel(), setUpChannel()]);
    const ended = await makeChannel(api, tenant);
    await api.db.query("update channels set status = 'disconnected' where id = $1", [ended]);
    t.same(await intake.accept(newMessage(tenant, channel, { key: "used" })), ACCEPTED);
    const [good, foreign, gone, repeated, misused, onEnded] = [
      newMessage(tenant, channel),
      newMessage(tenant, other.channel),
      newMessage(tenant, ended),
      newMessage(tenant, channel, { key: "used" }),
      newMessage(other.tenant, other.channel, { key: "mine" }),
      newMessage(tenant, ended, { key: "used2" }),
    ] as const;
    statements.length = 0;
    const results = await Promise.all(
      [good, foreign, gone, repeated, misused, onEnded].map((message) => intake.accept(message)),
    );
    t.same(results, [
      ACCEPTED,
      { outcome: "no_channel" },
      { outcome: "not_connected", status: "disconnected" },
      { outcome: "known", key: { fingerprint: uuidOf("the body"), reply_sealed: "sealed" } },
      ACCEPTED,
      { outcome: "not_connected", status: "disconnected" },
    ]);
    t.equal(statements.length, 2, "the second statement explains all refusals");
    t.same(
      notified.slice(1).map(({ channelId }) => channelId),
      [good.channel_id, misused.channel_id],
    );
    const kept = await readRows(api, "idempotency_keys", tenant);
    t.equal(kept.length, 1, "the key of a message that was not accepted is free");
    await api.db.query("update channels set status = 'disconnected' where id = $1", [channel]);
    t.match(await intake.accept(newMessage(tenant, channel, { key: "used" })), { outcome: "known" });
  });

  t.test("a failed batch is repeated row by row, and only the invalid message fails", async (t) => {
    const { intake, notified } = openIntake({ api });
    const { tenant, channel } = await setUpChannel();
    const messages = [1, 2, 3, 4].map((index) =>
      newMessage(tenant, channel, { key: `n${index}`, ...(index === 3 ? { recipient_kind: "fax" } : {}) }),
    );
    const results = await Promise.allSettled(messages.map((message) => intake.accept(message)));
    t.same(
      results.map(({ status }) => status),
      ["fulfilled", "fulfilled", "rejected", "fulfilled"],
    );
    t.equal(notified.length, 3);
    t.equal((await readRows(api, "messages", tenant)).length, 3);
    t.equal((await readRows(api, "idempotency_keys", tenant)).length, 3);
  });

  t.test("a batch is not retried while Postgres is unavailable; later messages are accepted", async (t) => {
    let isUnavailable = true;
    const { intake, statements } = openIntake({
      api,
      before: async () => {
        if (isUnavailable) throw new DatabaseUnavailable(new Error("unavailable"));
      },
    });
    const { tenant, channel } = await setUpChannel();
    const results = await Promise.allSettled([1, 2, 3].map(() => intake.accept(newMessage(tenant, channel))));
    t.ok(results.every(({ status }) => status === "rejected"));
    t.equal(statements.length, 1, "a message that may have been written is not written again");
    isUnavailable = false;
    t.same(await intake.accept(newMessage(tenant, channel)), ACCEPTED);
  });

  t.test("accepted messages are not inserted twice when explaining refusals fails", async (t) => {
    const { intake, statements } = openIntake({
      api,
      before: async (text) => {
        if (text.includes("channel_status")) throw new Error("an error of the second statement");
      },
    });
    const { tenant, channel } = await setUpChannel();
    const [good, bad] = await Promise.allSettled([
      intake.accept(newMessage(tenant, channel)),
      intake.accept(newMessage(tenant, newId("ch"))),
    ]);
    t.match(good, { status: "fulfilled", value: ACCEPTED });
    t.match(bad, { status: "rejected", reason: /second statement/ });
    t.equal(statements.length, 2);
  });

  t.test("a message is tried again when nothing rejects it now", async (t) => {
    const { tenant, channel } = await setUpChannel();
    await api.db.query("update channels set status = 'needs_reauth' where id = $1", [channel]);
    const { intake, statements } = openIntake({
      api,
      before: async (text) => {
        if (text.includes("channel_status"))
          await api.db.query("update channels set status = 'connected' where id = $1", [channel]);
      },
    });
    t.same(await intake.accept(newMessage(tenant, channel)), ACCEPTED);
    t.equal(statements.length, 3);
  });

  t.test("an idempotency key older than a day counts as new", async (t) => {
    const { intake } = openIntake({ api });
    const { tenant, channel } = await setUpChannel();
    const age = (interval: string) =>
      api.db.query("update idempotency_keys set created_at = now() - $2::interval where client_id = $1", [
        tenant.id,
        interval,
      ]);
    const keyed = (body: string) =>
      intake.accept(newMessage(tenant, channel, { key: "k", fingerprint: uuidOf(body), reply_sealed: body }));
    t.same(await keyed("first"), ACCEPTED);
    await age("23 hours 59 minutes");
    t.match(await keyed("second"), { outcome: "known", key: { reply_sealed: "first" } });
    await age("24 hours 1 minute");
    t.same(await keyed("second"), ACCEPTED);
    t.match(await keyed("third"), { outcome: "known", key: { reply_sealed: "second" } });
    t.equal((await readRows(api, "idempotency_keys", tenant)).length, 1);
  });

  /** An intake whose statements wait for `unblock`. */
  function openBlockedIntake(timeoutMs?: number) {
    let unblock = () => {};
    let started = 0;
    const blocked = new Promise<void>((resolve) => {
      unblock = resolve;
    });
    const before = () => {
      started += 1;
      return blocked;
    };
    const options = { api, before, ...(timeoutMs ? { timeoutMs } : {}) };
    return { intake: openIntake(options).intake, unblock, started: () => started };
  }

  t.test("the outcome of a message that waits too long is known only while it is pending", async (t) => {
    const { intake, unblock, started } = openBlockedIntake(4 * SECOND);
    const { tenant, channel } = await setUpChannel();
    const accepting = [];
    for (const statements of [1, 2, 2]) {
      accepting.push(intake.accept(newMessage(tenant, channel)));
      await until("the statement has started, if fewer than two are running", () => started() === statements);
    }
    const outcomes = (await Promise.all(accepting)).map(({ outcome }) => outcome);
    t.same(outcomes, ["unknown", "unknown", "unavailable"]);
    unblock();
    const countRows = async () => (await readRows(api, "messages", tenant)).length;
    await until("the running messages are accepted", async () => (await countRows()) === 2);
    t.same(await intake.accept(newMessage(tenant, channel)), ACCEPTED);
    t.equal(await countRows(), 3, "the pending message was not accepted");
  });

  t.test("messages beyond the limit of pending bytes are refused until others finish", async (t) => {
    const { intake, unblock } = openBlockedIntake();
    const { tenant } = await setUpChannel();
    const missingChannel = newId("ch");
    const content = "x".repeat(250_000);
    const accept = () => intake.accept(newMessage(tenant, missingChannel, { content }));
    const pending = Array.from({ length: 129 }, accept);
    unblock();
    const outcomes = (await Promise.all(pending)).map(({ outcome }) => outcome);
    t.equal(outcomes.filter((outcome) => outcome === "no_channel").length, 128, "32 MB are pending");
    t.equal(outcomes.at(-1), "overloaded");
    t.same(await accept(), { outcome: "no_channel" });
  });

  t.test("messages beyond the pending limit are refused until others finish", async (t) => {
    const { intake, unblock } = openBlockedIntake();
    const { tenant } = await setUpChannel();
    const missingChannel = newId("ch");
    const pending = Array.from({ length: 10_001 }, () => intake.accept(newMessage(tenant, missingChannel)));
    unblock();
    const outcomes = (await Promise.all(pending)).map(({ outcome }) => outcome);
    t.equal(outcomes.filter((outcome) => outcome === "no_channel").length, 10_000);
    t.equal(outcomes.at(-1), "overloaded");
    t.same(await intake.accept(newMessage(tenant, missingChannel)), { outcome: "no_channel" });
  });
});
