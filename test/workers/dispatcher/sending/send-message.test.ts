import t from "tap";
import { NOT_BUILT } from "../../../../src/domain/messages/message-errors.ts";
import { HOUR } from "../../../../src/runtime/durations.ts";
import { createSendPoll } from "../../../../src/store/messages/claim-sends.ts";
import { countFailedMessages } from "../../../../src/store/messages/queue-metrics.ts";
import { recordRetryDelays } from "../../../fixtures/messages/retry-delays.ts";
import {
  answerAccepted,
  answerJson,
  answerRefused,
  makeSendDue,
  queueMessage,
  queueMessages,
  readMessageEvents,
  receivedBodies,
  startSendingContext,
  untilMessage,
} from "../../../fixtures/messages/sending-context.ts";
import { makeChannel } from "../../../fixtures/tenants/channels.ts";

const statusesOf = ({ timeline }: { timeline: { status: string }[] }) => timeline.map(({ status }) => status);

t.test("sending messages", async (t) => {
  const context = await startSendingContext(t, { channel: { externalRef: "shop-7" } });
  const { platform } = context;
  const { untilRetryDelay } = await recordRetryDelays(context.db);
  let lastRecipient = 5511900000000;
  const newRecipient = () => String(++lastRecipient);
  const callsTo = (to: string) => receivedBodies(platform).filter((body) => body.to === to).length;

  t.test("an accepted message is recorded and reported to its client", async (t) => {
    const id = await queueMessage(context, { to: "5511999998888", externalRef: "order-9" });
    const row = await untilMessage(context, id, { status: "accepted" });
    t.match(row, { attempts: 1, error: null, state: null, platform_message_id: /^wamid/ });
    t.same(statusesOf(row), ["sending", "accepted"]);
    t.match(receivedBodies(platform).at(-1), { to: "5511999998888", biz_opaque_callback_data: id });
    t.match(await readMessageEvents(context, id), [
      {
        type: "message.send_result",
        external_ref: "order-9",
        channel_external_ref: "shop-7",
        message_id: id,
        outcome: "accepted",
        platform_message_id: /^wamid/,
      },
    ]);
  });

  t.test("a permanently refused message fails immediately with the platform's error", async (t) => {
    platform.answer = (response) => answerRefused(response, 131026, { error_data: { details: "not there" } });
    const to = newRecipient();
    const id = await queueMessage(context, { to });
    const row = await untilMessage(context, id, { status: "failed" });
    t.match(JSON.parse(row.error ?? ""), { code: 131026, title: "no", details: "not there" });
    t.same(statusesOf(row), ["sending", "failed"]);
    t.equal(row.state, null);
    t.match(await countFailedMessages(context.db, 1 * HOUR), [{ count: 1 }]);
    t.match(await readMessageEvents(context, id), [
      {
        type: "message.send_result",
        external_ref: undefined,
        channel_external_ref: "shop-7",
        outcome: "rejected",
        error: { code: 131026 },
      },
      { type: "message.status", status: "failed", recipient: to, errors: [{ code: 131026 }] },
    ]);
  });

  const BACKOFF = [
    [1_600, 2_400],
    [8_000, 12_000],
  ] as const;
  const PAIR = [
    [1_000, 1_000],
    [4_000, 4_000],
  ] as const;
  const RETRIED = [
    ["a throughput limit", 130429, BACKOFF],
    ["a temporary fault", 131000, BACKOFF],
    ["a pair rate limit", 131056, PAIR],
  ] as const;
  for (const [what, code, delays] of RETRIED)
    t.test(`a message is retried after ${what}, and its status does not go back`, async (t) => {
      let requests = 0;
      platform.answer = (response) =>
        ++requests <= delays.length
          ? answerRefused(response, code)
          : answerAccepted(response, `wamid.${code}`);
      const id = await queueMessage(context, { to: newRecipient() });
      for (const [index, [min, max]] of delays.entries()) {
        const { delayMs } = await untilRetryDelay(id, index + 1);
        t.ok(delayMs >= min - 1 && delayMs <= max + 1, `${delayMs} ms after attempt ${index + 1}`);
        await makeSendDue(context, id);
      }
      const row = await untilMessage(context, id, { status: "accepted" });
      t.same([row.attempts, statusesOf(row)], [3, ["sending", "accepted"]]);
      t.same(
        (await readMessageEvents(context, id)).map(({ outcome }) => outcome),
        ["accepted"],
      );
    });

  const UNKNOWN: [string, typeof platform.answer][] = [
    ["the connection breaks", (response) => response.destroy()],
    ["a gateway answers", (response) => void response.writeHead(502).end("<html>")],
    ["the answer does not mention the message", (response) => answerJson(response, 200, { fine: true })],
  ];
  for (const [what, answerer] of UNKNOWN)
    t.test(`a message has an unknown outcome when ${what}, and is not sent again`, async (t) => {
      platform.answer = answerer;
      const to = newRecipient();
      const id = await queueMessage(context, { to });
      const row = await untilMessage(context, id, { status: "unknown", state: "unknown" });
      t.same(statusesOf(row), ["sending", "unknown"]);
      platform.answer = (response) => answerAccepted(response, "never");
      await makeSendDue(context, id);
      const other = await queueMessage(context, { to });
      await untilMessage(context, other, { status: "accepted" });
      t.equal(callsTo(to), 2, "one request per message");
      t.match(await readMessageEvents(context, id), [{ type: "message.send_result", outcome: "unknown" }]);
      await context.db.query("update sends set next_attempt_at = now() where id = $1", [id]);
      const failed = await untilMessage(context, id, { status: "failed", state: null });
      t.match(JSON.parse(failed.error ?? ""), { code: "outcome_unknown" });
      t.match((await readMessageEvents(context, id)).at(-1), {
        type: "message.status",
        status: "failed",
        errors: [{ code: "outcome_unknown" }],
      });
    });

  t.test("a message that cannot be built fails after five attempts with an internal error", async (t) => {
    const last_error = JSON.stringify(NOT_BUILT);
    const id = await queueMessage(context, {
      to: newRecipient(),
      sendColumns: { attempts: 4, last_error },
      content: "no json",
    });
    const row = await untilMessage(context, id, { status: "failed" });
    t.match(JSON.parse(row.error ?? ""), { code: "internal" });
    t.equal(row.attempts, 5);
  });

  t.test("an expired message fails with its last error", async (t) => {
    const reason = JSON.stringify({ code: 131000, title: "t", message: "m", details: null });
    const late = { expires_at: new Date(), attempts: 3, last_error: reason };
    const id = await queueMessage(context, { to: newRecipient(), sendColumns: late });
    const row = await untilMessage(context, id, { status: "failed" });
    t.equal(row.error, reason);
    t.match(await readMessageEvents(context, id), [
      { outcome: "rejected" },
      { status: "failed", errors: [{ code: 131000 }] },
    ]);
  });

  t.test("messages of a disconnected channel fail", async (t) => {
    const channelId = await makeChannel(context, context.tenant);
    const to = newRecipient();
    const waits = { next_attempt_at: new Date(Date.now() + 60_000) };
    const [id = "", behind = ""] = await queueMessages(
      { ...context },
      { ...context, channelId },
      { to, sendColumns: waits },
      { to },
    );
    await context.db.query("update channels set status = 'disconnected', token_sealed = null where id = $1", [
      channelId,
    ]);
    await context.db.query("update sends set next_attempt_at = now() where id = $1", [id]);
    await untilMessage(context, behind, { status: "failed" });
    const row = await untilMessage(context, id, { status: "failed" });
    t.match(JSON.parse(row.error ?? ""), { code: "channel_disconnected" });
    t.equal(callsTo(to), 0);
  });

  t.test("messages of a channel with a dead token wait until it is reconnected", async (t) => {
    const phoneNumberId = "1400000000000777";
    const channel = { phoneNumberId, wabaId: "1500000000000777" };
    const channelId = await makeChannel(context, context.tenant, channel);
    const channelContext = { ...context, channelId };
    platform.answer = (response) => answerRefused(response, 190);
    const to = newRecipient();
    const later = { next_attempt_at: new Date(Date.now() + 3_600_000) };
    const second = await queueMessage(channelContext, { to, sendColumns: later });
    const first = await queueMessage(channelContext, { to: newRecipient() });
    await untilMessage(context, first, { state: "waiting", send_attempts: 1 });
    const statusOf = async () =>
      (
        await context.db.query<{ status: string }>("select status from channels where id = $1", [channelId])
      )[0]?.status;
    t.equal(await statusOf(), "needs_reauth");
    const [ended] = await context.db.query<{ payload: string }>(
      "select payload from events where type = 'channel.disconnected' and channel_id = $1",
      [channelId],
    );
    t.match(JSON.parse(ended?.payload ?? "{}"), { data: { reason: "token_dead" } });
    await context.db.query("update sends set next_attempt_at = now() where id = $1", [second]);
    const keys = await createSendPoll(context.db)(undefined, 1_000);
    t.notOk(
      keys.some((key) => key.channelId === channelId),
      "no dispatcher claims it",
    );
    const linesOf = (event: string) => context.lines.filter((line) => line.event === event);
    const marked = linesOf("channel.needs_reauth");
    t.match(marked, [{ level: "warn", client: context.tenant.id, channel: channelId, code: 190 }]);
    t.equal(marked.length, 1);
    const sent = linesOf("message.sent").find(({ message_id }) => message_id === first);
    t.match(sent, { outcome: "waiting", code: 190 });
    t.equal(sent?.retry_in, null);
    platform.answer = (response) => answerAccepted(response, "wamid.again");
    await makeChannel(context, context.tenant, channel);
    for (const id of [first, second]) await untilMessage(context, id, { status: "accepted" });
  });

  t.test("messages to one person are sent one by one, in the order of their acceptance", async (t) => {
    const to = newRecipient();
    let [open, maxOpen] = [0, 0];
    platform.answer = (response) => {
      maxOpen = Math.max(maxOpen, ++open);
      setTimeout(() => {
        open -= 1;
        answerAccepted(response, "wamid.in-order");
      }, 20);
    };
    const bodies = Array.from({ length: 8 }, (_, index) => ({ to, content: { body: String(index) } }));
    const ids = await queueMessages(context, context, ...bodies);
    for (const id of ids) await untilMessage(context, id, { status: "accepted" });
    const sent = receivedBodies(platform).filter((body) => body.to === to);
    t.same(
      sent.map(({ text }) => text.body),
      bodies.map(({ content }) => content.body),
    );
    t.equal(maxOpen, 1);
  });
});
