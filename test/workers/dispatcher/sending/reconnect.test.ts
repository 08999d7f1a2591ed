import type { ServerResponse } from "node:http";
import t, { type Test } from "tap";
import { disconnectChannel } from "../../../../src/domain/channels/channels.ts";
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

/** Waits until the send has found out that its channel needs a new token, and waits for it. */
const untilRefused = async (context: SendingContext, id: string) => {
  await untilMessage(context, id, { state: "waiting", send_attempts: 1 });
  await until("the channel needs a new token", async () => {
    const rows = await context.db.query(
      "select 1 from sends s join channels c on c.id = s.channel_id where s.id = $1 and c.status = 'needs_reauth'",
      [id],
    );
    return rows.length === 1;
  });
};

/** Waits until a recovery that began after this call has ended: each one fails the overdue sends of unknown outcome. */
const untilRecovered = async (context: SendingContext) => {
  for (const _ of [1, 2]) {
    const sendColumns = { state: "unknown", next_attempt_at: new Date(0) };
    const id = await queueMessage(context, { to: BOB, sendColumns });
    await untilMessage(context, id, { status: "failed" });
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
    await untilRefused(context, toAlice[0] as string);
    await untilRecovered(context);
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
    await untilRefused(context, first);
    const other = await queueMessages(context, context, ...numbered(to, 2));
    for (const id of other) await untilMessage(context, id, { status: "accepted" });
  });

  t.test("expire while they wait, the ones behind too", async (t) => {
    const { channelId } = await makeDeadChannel(context);
    const ids = await queue(channelId, ...numbered("5511900000005", 3));
    await untilRefused(context, ids[0] as string);
    await context.db.query("update sends set expires_at = now() where id = any($1)", [ids]);
    for (const id of ids) {
      const row = await untilMessage(context, id, { status: "failed", state: null });
      t.match(JSON.parse(row.error ?? ""), { code: "channel_disconnected" });
    }
  });

  t.test("fail soon after the channel is disconnected", async (t) => {
    const { channelId } = await makeDeadChannel(context);
    const ids = await queue(channelId, ...numbered("5511900000006", 3));
    await untilRefused(context, ids[0] as string);
    await disconnectChannel(context.db, makeActor(context.tenant.id), channelId);
    for (const id of ids) {
      const row = await untilMessage(context, id, { status: "failed", state: null });
      t.match(JSON.parse(row.error ?? ""), { code: "channel_disconnected" });
    }
  });
});
