import type { ServerResponse } from "node:http";
import t, { type Test } from "tap";
import { disconnectChannel } from "../../../../src/domain/channels/channels.ts";
import { createStreams } from "../../../../src/queue/streams.ts";
import { MINUTE } from "../../../../src/runtime/durations.ts";
import {
  answerAccepted,
  answerRefused,
  queueMessage,
  queueMessages,
  readMessage,
  receivedBodies,
  startSendingContext,
  untilMessage,
} from "../../../fixtures/messages/sending-context.ts";
import { startDispatcher } from "../../../fixtures/processes/dispatcher.ts";
import { makeActor } from "../../../fixtures/tenants/actors.ts";
import { makeChannel, newPlatformId } from "../../../fixtures/tenants/channels.ts";
import { until } from "../../../fixtures/until.ts";

const [ALICE, BOB] = ["5511900000001", "5511900000002"];
/** The recipient whose requests the test answers. */
const HELD = "5511900000004";
const DEAD_TOKEN = "a-dead-token";

type SendingContext = Awaited<ReturnType<typeof startSendingContext>>;

/**
 * Two dispatchers, and a platform that refuses DEAD_TOKEN and accepts any other token. The requests to HELD with
 * DEAD_TOKEN wait in `held`.
 */
async function startContext(t: Test) {
  const context = await startSendingContext(t);
  await startDispatcher(t, { config: context.config });
  const held: ServerResponse[] = [];
  context.platform.answer = (response, { headers, raw }) => {
    const { to, biz_opaque_callback_data: id } = JSON.parse(raw);
    if (headers.authorization !== `Bearer ${DEAD_TOKEN}`) answerAccepted(response, `wamid.${id}`);
    else if (to === HELD) held.push(response);
    else answerRefused(response, 190);
  };
  return { ...context, held };
}

/** A channel with a dead token; `reconnect` gives it a new one. */
async function makeDeadChannel(context: SendingContext) {
  const asset = { phoneNumberId: newPlatformId(), wabaId: newPlatformId() };
  const channelId = await makeChannel(context, context.tenant, { ...asset, token: DEAD_TOKEN });
  const reconnect = () => makeChannel(context, context.tenant, { ...asset, token: "a-new-token" });
  return { channelId, reconnect };
}

/** Messages to one person, numbered in their text. */
const numbered = (to: string, count: number, start = 0) =>
  Array.from({ length: count }, (_, index) => ({ to, content: { body: String(start + index) } }));

/** Texts that the platform accepted for a person, in order. */
const acceptedTexts = ({ platform }: SendingContext, to: string): string[] =>
  receivedBodies(platform).flatMap((body, index) =>
    body.to === to && platform.received[index]?.headers.authorization !== `Bearer ${DEAD_TOKEN}`
      ? [body.text.body]
      : [],
  );

/** Waits until the sweep has postponed the send because its channel needs a new token. */
const untilPostponed = (context: SendingContext, id: string) =>
  until(`${id} is postponed`, async () => {
    const { state, next_attempt_at } = await readMessage(context, id);
    return state === "waiting" && (next_attempt_at?.getTime() ?? 0) > Date.now() + 20 * MINUTE;
  });

/** Waits until a sweep that began after this call has ended: it has queued a new message on another channel. */
const untilSwept = async (context: SendingContext) => {
  for (const _ of [1, 2]) {
    const id = await queueMessage(context, { to: BOB, sendColumns: { enqueued_at: null } });
    await untilMessage(context, id, { status: "accepted" });
  }
};

t.test("messages of a channel with a dead token", async (t) => {
  t.jobs = 6; // mostly waiting; each test has recipients and a channel of its own
  const context = await startContext(t);
  const queue = (channelId: string, ...messages: Parameters<typeof queueMessage>[1][]) =>
    queueMessages(context, { ...context, channelId }, ...messages.map((message) => message ?? {}));
  const statesOf = (ids: readonly string[]) =>
    Promise.all(ids.map(async (id) => (await readMessage(context, id)).state));

  t.test("are sent once after a reconnect, to each person in the order of acceptance", async (t) => {
    const { channelId, reconnect } = await makeDeadChannel(context);
    const toAlice = await queue(channelId, ...numbered(ALICE, 6));
    await untilPostponed(context, toAlice[0] as string);
    await untilSwept(context);
    t.same(await statesOf(toAlice), ["waiting", ...Array(5).fill("behind")], "the first one blocks the rest");
    await reconnect();
    const toBob = await queue(channelId, ...numbered(BOB, 3, 100));
    const late = await queue(channelId, ...numbered(ALICE, 2, 6));
    for (const id of [...toAlice, ...late, ...toBob])
      await untilMessage(context, id, { status: "accepted", state: null });
    t.same(acceptedTexts(context, ALICE), ["0", "1", "2", "3", "4", "5", "6", "7"]);
    t.same(
      acceptedTexts(context, BOB).filter((text) => Number(text) >= 100),
      ["100", "101", "102"],
    );
  });

  t.test("keep that order when several were waiting already and are in streams", async (t) => {
    const { channelId, reconnect } = await makeDeadChannel(context);
    const to = "5511900000003";
    const ids = await queue(channelId, ...numbered(to, 5));
    await untilPostponed(context, ids[0] as string);
    // As left by a retry that was far away: the later sends were released while it waited.
    await context.db.query(
      "update sends set state = 'waiting', next_attempt_at = now(), slot_at = now(), attempts = 1 where id = any($1)",
      [ids.slice(1, 4)],
    );
    await reconnect();
    const refs = ids.map((id) => ({ clientId: context.tenant.id, id, channelId, slotAt: Date.now() }));
    await createStreams(context.redis, 1).add("outbound", refs.reverse());
    for (const id of ids) await untilMessage(context, id, { status: "accepted", state: null });
    t.same(acceptedTexts(context, to), ["0", "1", "2", "3", "4"]);
  });

  t.test("are retried soon when the token was replaced while the request was open", async (t) => {
    const { channelId, reconnect } = await makeDeadChannel(context);
    // With four attempts, the usual delay would be ten minutes and would no longer block the next message.
    const [first = "", second = ""] = await queue(
      channelId,
      { ...numbered(HELD, 1)[0], sendColumns: { attempts: 4 } },
      ...numbered(HELD, 1, 1),
    );
    const response = await until("the request is open", () => context.held[0]);
    await reconnect();
    answerRefused(response, 190);
    await untilMessage(context, second, { status: "accepted" });
    t.match(await readMessage(context, first), { status: "accepted", attempts: 6 });
    t.same(acceptedTexts(context, HELD), ["0", "1"]);
  });

  t.test("do not delay messages on other channels", async () => {
    const { channelId } = await makeDeadChannel(context);
    const to = "5511900000007";
    const [first = ""] = await queue(channelId, ...numbered(to, 2));
    await untilPostponed(context, first);
    const other = await queueMessages(context, context, ...numbered(to, 2));
    for (const id of other) await untilMessage(context, id, { status: "accepted" });
  });

  t.test("expire while they wait, the ones behind too", async (t) => {
    const { channelId } = await makeDeadChannel(context);
    const ids = await queue(channelId, ...numbered("5511900000005", 3));
    await untilPostponed(context, ids[0] as string);
    await context.db.query("update sends set expires_at = now() where id = any($1)", [ids]);
    for (const id of ids) {
      const row = await untilMessage(context, id, { status: "failed", state: null });
      t.match(JSON.parse(row.error ?? ""), { code: "channel_disconnected" });
    }
  });

  t.test("fail soon after the channel is disconnected", async (t) => {
    const { channelId } = await makeDeadChannel(context);
    const ids = await queue(channelId, ...numbered("5511900000006", 3));
    await untilPostponed(context, ids[0] as string);
    await disconnectChannel(context.db, makeActor(context.tenant.id), channelId);
    for (const id of ids) {
      const row = await untilMessage(context, id, { status: "failed", state: null });
      t.match(JSON.parse(row.error ?? ""), { code: "channel_disconnected" });
    }
  });
});
