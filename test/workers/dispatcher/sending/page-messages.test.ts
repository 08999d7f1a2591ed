import t from "tap";
import {
  answerAccepted,
  answerRefused,
  makeSendDue,
  queueMessage,
  readMessageEvents,
  receivedBodies,
  startSendingContext,
  untilMessage,
  untilPaused,
} from "../../../fixtures/messages/sending-context.ts";
import { until } from "../../../fixtures/until.ts";

const PICTURE = { link: "https://example.com/a.png", caption: "Look" };

t.test("sending page messages", async (t) => {
  const context = await startSendingContext(t, {
    channel: { platform: "socialapp", pageId: "1300000000000777" },
  });
  const { platform } = context;
  const bodiesTo = (to: string) => receivedBodies(platform).filter(({ recipient }) => recipient.id === to);
  const queue = (to: string, message: object) => queueMessage(context, { to, ...message });

  t.test("an accepted message counts as sent, because the platform reports nothing later", async (t) => {
    const options = { context: { message_id: "m_0" }, messaging_type: "MESSAGE_TAG", tag: "HUMAN_AGENT" };
    const id = await queue("1001", { options });
    const row = await untilMessage(context, id, { status: "sent" });
    t.same(
      row.timeline.map(({ status }) => status),
      ["sending", "accepted", "sent"],
    );
    t.same(bodiesTo("1001"), [
      {
        recipient: { id: "1001" },
        messaging_type: "MESSAGE_TAG",
        tag: "HUMAN_AGENT",
        message: { text: "Hi" },
        reply_to: { mid: "m_0" },
      },
    ]);
    t.match(await readMessageEvents(context, id), [
      { type: "message.send_result", outcome: "accepted" },
      { type: "message.status", message_id: id, status: "sent", recipient: "1001", errors: [] },
    ]);
  });

  t.test("a message with a caption is two requests with two platform ids", async (t) => {
    let parts = 0;
    platform.answer = (response) => answerAccepted(response, `m_${++parts}`);
    const id = await queue("1002", { type: "image", content: PICTURE });
    const row = await untilMessage(context, id, { status: "sent" });
    t.match(row, { platform_message_id: "m_1", caption_message_id: "m_2", attempts: 1 });
    t.match(bodiesTo("1002"), [
      { message: { attachment: { type: "image" } } },
      { message: { text: "Look" } },
    ]);
  });

  t.test("a retry sends only the caption after the picture was accepted", async (t) => {
    let parts = 0;
    platform.answer = (response) =>
      ++parts === 2 ? answerRefused(response, 1200) : answerAccepted(response, `m_part_${parts}`);
    const id = await queue("1003", { type: "image", content: PICTURE });
    const isRefused = () =>
      context.lines.some(({ event, message_id }) => event === "message.sent" && message_id === id);
    await until("the caption is refused", isRefused);
    await makeSendDue(context, id);
    const row = await untilMessage(context, id, { status: "sent" });
    t.match(row, { platform_message_id: "m_part_1", caption_message_id: "m_part_3", attempts: 2 });
    t.same(
      bodiesTo("1003").map(({ message }) => Object.keys(message)[0]),
      ["attachment", "text", "text"],
    );
  });

  t.test("a message with a refused caption fails and keeps the platform id of its picture", async (t) => {
    let parts = 0;
    platform.answer = (response) =>
      ++parts === 2 ? answerRefused(response, 551) : answerAccepted(response, "m_picture");
    const id = await queue("1004", { type: "image", content: PICTURE });
    const row = await untilMessage(context, id, { status: "failed" });
    t.match(JSON.parse(row.error ?? ""), { code: 551, details: /^The media was sent/ });
    t.equal(row.platform_message_id, "m_picture");
  });

  t.test("the subcode of a refusal is counted with its code, and no event shows it", async (t) => {
    platform.answer = (response) => answerRefused(response, 10, { error_subcode: 2018278 });
    const id = await queue("1007", {});
    await untilMessage(context, id, { status: "failed" });
    const [row] = await context.db.query("select error_code from messages where id = $1", [id]);
    t.same(row, { error_code: "10/2018278" });
    const [result] = await readMessageEvents(context, id);
    t.same(Object.keys(result?.error), ["code", "title", "message", "details"]);
  });

  t.test("no request is made while the platform asks for a pause", async (t) => {
    platform.answer = (response) => answerRefused(response, 613);
    await untilMessage(context, await queue("1005", {}), { state: "waiting", send_attempts: 1 });
    const id = await queue("1006", {});
    await untilPaused(context, context.channelId);
    await untilMessage(context, id, { state: "waiting", send_attempts: 0 });
    t.same(bodiesTo("1006"), []);
  });
});
