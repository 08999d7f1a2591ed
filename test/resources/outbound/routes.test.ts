import t from "tap";
import { DAY } from "../../../src/runtime/durations.ts";
import { firstIdAt } from "../../../src/runtime/ids.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { readPages } from "../../fixtures/http/list-pages.ts";
import { makeSender, RECIPIENT_PHONE, textMessage, updateRow } from "../../fixtures/messages/messages.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";

const ABSENT = "msg_01k9zv3m5q8x7w2r4t6y0a1b2c";
/** After the acceptance of every message. */
const STATUS_TIME = "2100-01-01T09:30:01.000Z";

const idsIn = (rows: { message_id: string }[]) => rows.map(({ message_id }) => message_id);

/** Deletes the send and updates the message, like a dispatcher after the final outcome. */
async function settle(api: Api, id: string, columns: Record<string, unknown>): Promise<void> {
  await api.db.query("delete from sends where id = $1", [id]);
  await updateRow(api, "messages", { id, ...columns });
}

t.test("messages", async (t) => {
  const api = await startApi(t);

  /** Creates a sender and sends these messages; `ids` has their order. */
  const withMessages = async (...messages: object[]) => {
    const sender = await makeSender(api);
    const channel = await makeChannel(api, sender.tenant);
    const ids: string[] = [];
    for (const message of messages)
      ids.push((await sender.send(textMessage(channel, message))).body.message_id as string);
    return { sender, channel, ids: ids as [string, ...string[]] };
  };

  t.test("a message being attempted has status sending and its attempts so far", async (t) => {
    const { sender, ids } = await withMessages({});
    const [id] = ids;
    const started_at = new Date(STATUS_TIME);
    const sending = { status: "sending", at: STATUS_TIME };
    const readMessage = async () => (await sender.read(id)).body;

    await updateRow(api, "sends", { id, state: "claimed" });
    t.match(
      await readMessage(),
      { status: "queued", attempts: 0 },
      "claimed, but its first attempt has not started",
    );
    await updateRow(api, "sends", { id, started_at, sending_at: started_at });
    t.match(await readMessage(), {
      status: "sending",
      statuses: [{ status: "queued" }, sending],
      attempts: 0,
    });
    await updateRow(api, "sends", { id, state: "waiting", sending_at: null, attempts: 2 });
    t.match(await readMessage(), {
      status: "sending",
      statuses: [{ status: "queued" }, sending],
      attempts: 2,
    });
    const timeline = JSON.stringify([sending, { status: "unknown", at: STATUS_TIME }]);
    await updateRow(api, "sends", { id, state: "unknown" });
    await updateRow(api, "messages", { id, status: "unknown", timeline });
    t.same(
      (await readMessage()).statuses.map(({ status }: { status: string }) => status),
      ["queued", "sending", "unknown"],
    );
  });

  t.test("a finished message has its statuses and its error", async (t) => {
    const { sender, ids } = await withMessages({}, {});
    const [read, failed] = ids as [string, string];
    const timeline = [
      { status: "sending", at: STATUS_TIME },
      { status: "accepted", at: STATUS_TIME },
      { status: "read", at: STATUS_TIME },
    ];
    await settle(api, read, {
      status: "read",
      timeline: JSON.stringify(timeline),
      platform_message_id: "wamid.x",
      attempts: 3,
    });
    const { statuses, ...message } = (await sender.read(read)).body;
    t.match(message, { status: "read", platform_message_id: "wamid.x", error: null, attempts: 3 });
    t.same(statuses.slice(1), timeline);
    for (const [error, expected] of [
      [
        { code: 131026, title: "Undeliverable", message: "m", details: "d" },
        { code: 131026, title: "Undeliverable", message: "m", details: "d" },
      ],
      [
        { code: "outcome_unknown", message: "m" },
        { code: "outcome_unknown", title: null, message: "m", details: null },
      ],
    ]) {
      await settle(api, failed, { status: "failed", error: JSON.stringify(error) });
      t.same((await sender.read(failed)).body.error, expected);
    }
  });

  t.test("messages are paged newest first, forward and backward", async (t) => {
    const { sender, ids } = await withMessages({}, {}, {}, {}, {});
    await withMessages({});
    const { forward, backward } = await readPages<{ message_id: string }>(sender.list, 2);
    t.same(idsIn(forward), ids.toReversed());
    t.same(idsIn(backward), ids.toReversed());
    const { after } = (await sender.list("?limit=2")).body.paging.cursors;
    const { sender: otherSender } = await withMessages();
    t.equal((await otherSender.list(`?after=${after}`)).status, 400, "another client's cursor");
    t.same((await otherSender.list()).body.data, []);
    const [listed] = (await sender.list("?limit=1")).body.data;
    t.match((await sender.read(ids[4] as string)).body, listed, "a list has the same fields");
    t.notOk("content" in listed, "except the content");
  });

  t.test("messages are filtered by each filter, and by several combined", async (t) => {
    const { sender, channel, ids } = await withMessages(
      {},
      { external_ref: "r-1" },
      { to: "US.1", external_ref: "r-1" },
      { to: "US.1" },
    );
    const [first, second, third, fourth] = ids as [string, string, string, string];
    const secondChannel = await makeChannel(api, sender.tenant, { platform: "socialapp" });
    const fifth = (await sender.send(textMessage(secondChannel, { to: "1" }))).body.message_id;
    const listed = async (query: string) => idsIn((await sender.list(query)).body.data);
    t.same(await listed(`?channel_id=${channel}`), [fourth, third, second, first]);
    t.same(await listed(`?channel_id=${secondChannel}`), [fifth]);
    t.same(await listed(`?to=${RECIPIENT_PHONE}`), [second, first]);
    t.same(await listed("?external_ref=r-1"), [third, second]);
    t.same(await listed("?external_ref=r-1&to=US.1"), [third]);
    t.same(await listed(`?external_ref=r-1&channel_id=${secondChannel}`), []);
  });

  t.test("messages are filtered by every status, including queued and sending", async (t) => {
    const { sender, ids } = await withMessages({}, {}, {}, {}, {}, {}, {}, {});
    const [queued, leased, attempted, ...settled] = ids as [string, string, string, ...string[]];
    await updateRow(api, "sends", {
      id: leased,
      state: "claimed",
      started_at: new Date(),
      sending_at: new Date(),
    });
    await updateRow(api, "sends", { id: attempted, started_at: new Date(), attempts: 1 });
    const finalStatuses = ["accepted", "sent", "delivered", "read", "failed"];
    for (const [index, status] of finalStatuses.entries())
      await settle(api, settled[index] as string, { status });
    const listed = async (query: string) => idsIn((await sender.list(query)).body.data);
    t.same(await listed("?status=queued"), [queued]);
    t.same(await listed("?status=sending"), [attempted, leased]);
    for (const [index, status] of finalStatuses.entries())
      t.same(await listed(`?status=${status}`), [settled[index]]);
    t.same(await listed(`?status=sending&to=${RECIPIENT_PHONE}&limit=1`), [attempted]);
    await updateRow(api, "sends", { id: attempted, state: "unknown" });
    await updateRow(api, "messages", { id: attempted, status: "unknown" });
    t.same(await listed("?status=unknown"), [attempted]);
    t.same(await listed("?status=sending"), [leased]);
  });

  t.test("since and until filter by time of acceptance, inclusive at both ends", async (t) => {
    const { sender, ids } = await withMessages({}, {}, {});
    const start = Date.parse("2026-05-01T10:00:00.000Z");
    const movedIds = await Promise.all(
      ids.map(async (id, index) => {
        const newMessageId = `${firstIdAt("msg", start + index)}0000000000000000`;
        for (const table of ["sends", "messages"])
          await api.db.query(`update ${table} set id = $2 where id = $1`, [id, newMessageId]);
        return newMessageId;
      }),
    );
    const [first, second, third] = movedIds;
    const listed = async (query: string) => idsIn((await sender.list(query)).body.data);
    t.same(await listed("?since=2026-05-01T10:00:00.001Z"), [third, second]);
    t.same(await listed("?until=2026-05-01T10:00:00.001Z"), [second, first]);
    t.same(await listed("?since=2026-05-01T07:00:00.001-03:00&until=2026-05-01T10:00:00.001Z"), [second]);
    t.same(await listed(`?since=${new Date(start + DAY).toISOString()}`), []);
    t.same(await listed("?since=0001-01-01T00:00:00Z&until=9999-12-31T23:59:59Z"), [third, second, first]);
    t.equal((await sender.read(first as string)).body.created_at, "2026-05-01T10:00:00.000Z");
  });

  t.test("invalid input gets an error that names the field", async (t) => {
    const { sender } = await withMessages();
    for (const [query, path] of [
      ["?channel_id=ch_1", "/channel_id"],
      ["?status=gone", "/status"],
      ["?to=", "/to"],
      ["?external_ref=", "/external_ref"],
      ["?since=yesterday", "/since"],
      ["?until=2026-06-30T23:59:60Z", "/until"],
      ["?since=2026-11-02T00:00:00Z&until=2026-11-01T00:00:00Z", "/since"],
      ["?type=text", "/type"],
      ["?limit=101", "/limit"],
      ["?after=x", "/after"],
    ] as const) {
      const { status, body } = await sender.list(query);
      t.equal(status, 400, query);
      t.match(body, { error: "validation_failed", details: [{ path }] }, query);
    }
    for (const [id, status] of [
      [ABSENT, 404],
      ["msg_1", 400],
      [ABSENT.replace("msg_", "evt_"), 400],
    ] as const)
      t.equal((await sender.read(id)).status, status, id);
  });
});
