import type { Test } from "tap";
import t from "tap";
import { SECOND } from "../../../src/runtime/durations.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import {
  insertMessage,
  insertSend,
  listPendingSends,
  readMessageState,
  readMessageStates,
} from "../../fixtures/messages/message-rows.ts";
import {
  conversationWebhook,
  readClientEvents,
  sendWebhook,
  statusWebhook,
} from "../../fixtures/platforms/webhooks.ts";
import { untilBlocked } from "../../fixtures/servers/lock-waits.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { makeChannel, newPlatformId } from "../../fixtures/tenants/channels.ts";
import { makeTenant, type Tenant } from "../../fixtures/tenants/tenants.ts";

const BASE_SECONDS = 1790000000;
/** ISO time so many seconds after BASE_SECONDS. */
const isoAt = (seconds = 0) => new Date((BASE_SECONDS + seconds) * SECOND).toISOString();

/** A client with a chat number, and a function that posts statuses of its messages. */
async function setUpNumber(t: Test, options: Parameters<typeof startApi>[1] = {}) {
  const api = await startApi(t, options);
  const tenant = await makeTenant(api);
  return { api, tenant, ...(await connectNumber(api, tenant)) };
}

async function connectNumber(api: Api, tenant: Tenant) {
  const phoneNumberId = newPlatformId();
  const channelId = await makeChannel(api, tenant, { phoneNumberId, externalRef: "shop-7" });
  const sendStatuses = (...statuses: unknown[]) => sendWebhook(api, statusWebhook(phoneNumberId, statuses));
  return { channelId, phoneNumberId, sendStatuses };
}

let ids = 0;
const newWamid = () => `wamid.HBgL${++ids}==`;

const ERROR = {
  code: 131026,
  title: "Undeliverable",
  message: "Message undeliverable",
  error_data: { details: "No such number \u0000 \ud83d" },
  href: "https://x",
};
const STORED_ERROR = {
  code: 131026,
  title: "Undeliverable",
  message: "Message undeliverable",
  details: "No such number \u0000 \ud83d",
};

/** A status in the platform's format. */
const status = (id: string, word: string, more: object = {}) => ({
  id,
  status: word,
  timestamp: String(BASE_SECONDS),
  recipient_id: "5511999998888",
  ...(word === "failed" ? { errors: [ERROR, { code: 1 }] } : {}),
  ...more,
});

const lastLogLine = (api: Api) => api.lines.filter(({ event }) => event === "webhook.received").at(-1);

const OUTCOME_UNKNOWN = { code: "outcome_unknown", title: "t", message: "m", details: null };
const REFUSED = { code: 131047, title: '"code":"outcome_unknown"', message: null, details: null };

const INITIAL_STATES = {
  queued: { status: "queued" },
  accepted: { status: "accepted" },
  sent: { status: "sent" },
  delivered: { status: "delivered" },
  read: { status: "read" },
  refused: { status: "failed", error: JSON.stringify(REFUSED) },
  "given up": { status: "failed", error: JSON.stringify(OUTCOME_UNKNOWN), outcome_unknown: true },
  unknown: { status: "unknown" },
};

const WORDS = ["sent", "delivered", "read", "played", "failed", "held", "accepted", "constructor"];

/** Terms that move a message, by its initial state. */
const MOVED_BY: Record<keyof typeof INITIAL_STATES, string[]> = {
  queued: ["sent", "delivered", "read", "played", "failed"],
  accepted: ["sent", "delivered", "read", "played", "failed"],
  sent: ["delivered", "read", "played", "failed"],
  delivered: ["read", "played"],
  read: [],
  refused: [],
  "given up": ["sent", "delivered", "read", "played", "failed"],
  unknown: ["sent", "delivered", "read", "played", "failed"],
};

const stepOf = (word: string) => (word === "played" ? "read" : word);

t.test("a status moves a message forward and never back", async (t) => {
  const { api, tenant, sendStatuses } = await setUpNumber(t);
  const cases = Object.entries(INITIAL_STATES).flatMap(([name, columns]) =>
    WORDS.map((word) => ({ name: name as keyof typeof INITIAL_STATES, columns, word, wamid: newWamid() })),
  );
  const before = [{ status: "unknown", at: isoAt(-60) }];
  const messages = await Promise.all(
    cases.map(async ({ name, columns, word, wamid }) => {
      const timeline = name === "given up" ? [...before, { status: "failed", at: isoAt(-30) }] : before;
      const given = { ...columns, timeline: JSON.stringify(timeline), platform_message_id: wamid };
      return { name, word, wamid, timeline, id: await insertMessage(api, tenant, given) };
    }),
  );
  t.equal((await sendStatuses(...messages.map(({ wamid, word }) => status(wamid, word)))).status, 200);
  const ids = messages.map(({ id }) => id);
  const states = await readMessageStates(api, ids);
  for (const [index, { name, word, wamid, timeline }] of messages.entries()) {
    const expected = MOVED_BY[name].includes(word) ? stepOf(word) : undefined;
    const reached = [...timeline, { status: expected, at: isoAt() }];
    const { error: initialError, status: initial } = INITIAL_STATES[name] as {
      error?: string;
      status: string;
    };
    t.same(
      states[index],
      {
        status: expected ?? initial,
        timeline: expected && expected !== initial ? reached : timeline,
        platform_message_id: wamid,
        error: expected
          ? expected === "failed"
            ? STORED_ERROR
            : null
          : initialError
            ? JSON.parse(initialError)
            : null,
      },
      `${name}, ${word}`,
    );
  }
  const told = await readClientEvents(api, tenant.id);
  t.same(
    told.map(({ message_id, payload: { data } }) => [message_id, data.message_id, data.status]),
    messages.map(({ id, word }) => [id, id, word]),
    "every status is recorded as an event",
  );
  t.match(lastLogLine(api), {
    updates: messages.length,
    recorded: messages.length,
    duplicate: 0,
    ignored: 0,
  });
  await sendStatuses(
    ...messages.map(({ wamid, word }) => status(wamid, word, { timestamp: String(BASE_SECONDS + 9) })),
  );
  t.match(lastLogLine(api), { recorded: 0, duplicate: messages.length });
  const again = await readMessageStates(api, ids);
  for (const [index, { name, word, timeline }] of messages.entries())
    t.equal(
      again[index]?.timeline.length,
      timeline.length + (MOVED_BY[name].includes(word) && name + word !== "given upfailed" ? 1 : 0),
      `${name}, ${word} again`,
    );
});

/** Statuses that the message reaches, terms in one webhook, and the initial state. */
const COMBINED_CASES: [string, string[], (keyof typeof INITIAL_STATES)?][] = [
  ["sent delivered read", ["sent", "delivered", "read"]],
  ["sent delivered read", ["read", "delivered", "sent"]],
  ["sent delivered read", ["delivered", "played", "sent", "read"]],
  ["delivered read", ["sent", "read", "delivered"], "sent"],
  ["sent failed", ["failed", "sent"]],
  ["sent failed", ["sent", "failed"], "unknown"],
  ["failed", ["sent", "failed"], "sent"],
  ["sent delivered", ["failed", "delivered", "sent"]],
  ["read", ["failed", "read"], "delivered"],
  ["", ["sent", "delivered"], "read"],
  ["", ["sent", "delivered", "failed"], "refused"],
  ["sent delivered", ["delivered", "sent"], "given up"],
  ["sent", ["held", "sent", "teleported"]],
];

t.test("all statuses of a message in one webhook count, in any order", async (t) => {
  const { api, tenant, sendStatuses } = await setUpNumber(t);
  for (const [reached, words, initialState = "accepted"] of COMBINED_CASES) {
    const [wamid, initial] = [newWamid(), INITIAL_STATES[initialState]];
    const id = await insertMessage(api, tenant, { ...initial, platform_message_id: wamid });
    await sendStatuses(
      ...words.map((word, index) => status(wamid, word, { timestamp: String(BASE_SECONDS + index) })),
    );
    const state = await readMessageState(api, id);
    const steps = reached === "" ? [] : reached.split(" ");
    const name = `${initialState}: ${words}`;
    t.same(
      state.timeline.map((step) => step.status),
      steps,
      name,
    );
    t.equal(state.status, steps.at(-1) ?? initial.status, name);
    for (const step of state.timeline) {
      const first = words.findIndex((word) => stepOf(word) === step.status);
      t.equal(step.at, isoAt(first), `${name}: time of the first ${step.status}`);
    }
  }
  const wamid = newWamid();
  const id = await insertMessage(api, tenant, { status: "accepted", platform_message_id: wamid });
  for (const word of ["delivered", "sent", "read", "delivered", "failed"])
    await sendStatuses(status(wamid, word));
  t.match(await readMessageState(api, id), { status: "read", error: null });
  t.same(
    (await readMessageState(api, id)).timeline.map((step) => step.status),
    ["delivered", "read"],
    "a status that arrives late is recorded as an event, but not added to the timeline",
  );
});

t.test("a status is matched to the message of its own client only", async (t) => {
  const { api, tenant, channelId, sendStatuses } = await setUpNumber(t);
  const other = await makeTenant(api);
  const otherChannel = await makeChannel(api, tenant);
  const theirs = await insertMessage(api, other, { platform_message_id: "wamid.theirs" });
  const make = (columns: object) => insertMessage(api, tenant, { channel_id: channelId, ...columns });
  const named = (id: string, callback: unknown, more: object = {}) =>
    status(id, "delivered", { biz_opaque_callback_data: callback, ...more });
  const [early, known, elsewhere, caption, taken, renamed] = [
    await make({}),
    await make({ status: "accepted", platform_message_id: "wamid.known" }),
    await make({ status: "sent", platform_message_id: "wamid.elsewhere", channel_id: otherChannel }),
    await make({ status: "sent", platform_message_id: "wamid.media", caption_message_id: "wamid.caption" }),
    await make({ status: "accepted", platform_message_id: "wamid.taken" }),
    await make({ status: "accepted", platform_message_id: "wamid.first" }),
  ];
  const cases: [string, object, string | null][] = [
    ["by our id, before the platform's was stored", named("wamid.early", early), early],
    ["by both ids", named("wamid.known", known), known],
    ["by the platform's id alone", status("wamid.elsewhere", "delivered"), elsewhere],
    ["by the platform's id of its caption", status("wamid.caption", "delivered"), caption],
    [
      "by the platform's id, with foreign callback data",
      named("wamid.known", "x", { status: "read" }),
      known,
    ],
    ["by the platform's id, with an unknown id of ours", named("wamid.media", newId("msg")), caption],
    [
      "by the platform's id, with our id of another message",
      named("wamid.early", taken, { status: "read" }),
      early,
    ],
    ["of another client, by our id", named("wamid.a", theirs), null],
    ["of another client, by the platform's id", status("wamid.theirs", "delivered"), null],
    ["of another client, by both ids", named("wamid.theirs", theirs, { status: "read" }), null],
    ["by our id, with another platform id", named("wamid.b", renamed), renamed],
    ["by our id, with a third platform id", named("wamid.g", renamed, { status: "read" }), renamed],
    ["callback data in another format", named("wamid.c", `${early}'; --`), null],
    ["callback data that is a number", named("wamid.d", 12), null],
    ["callback data that is an object", named("wamid.e", { id: early }), null],
    ["unknown platform id", status("wamid.f", "delivered"), null],
    ["a platform id that cannot be stored", named("\u0000", taken), null],
    ["a platform id with half a surrogate pair", named("\ud83d", taken), null],
    ["a very long platform id", named("x".repeat(5_000), taken), null],
    ["without a recipient", { id: "wamid.taken", status: "sent", timestamp: String(BASE_SECONDS) }, taken],
  ];
  t.equal((await sendStatuses(...cases.map(([, given]) => given))).status, 200);
  const events = await readClientEvents(api, tenant.id);
  t.equal(events.length, cases.length);
  for (const [index, [name, given, id]] of cases.entries()) {
    const { message_id, payload, text } = events[index] as (typeof events)[number];
    t.same([message_id, payload.data.message_id], [id, id], name);
    t.ok(text.endsWith(`"raw":${JSON.stringify(given)}}`), `${name}: raw is unchanged`);
  }
  t.match(await readMessageState(api, early), { status: "read", platform_message_id: "wamid.early" });
  t.match(await readMessageState(api, known), { status: "read", platform_message_id: "wamid.known" });
  t.match(await readMessageState(api, elsewhere), { status: "delivered" });
  t.match(await readMessageState(api, caption), { status: "delivered", platform_message_id: "wamid.media" });
  t.match(await readMessageState(api, taken), { status: "sent", platform_message_id: "wamid.taken" });
  t.match(await readMessageState(api, renamed), {
    status: "read",
    platform_message_id: "wamid.first",
    timeline: [{ status: "delivered" }, { status: "read" }],
  });
  t.match(await readMessageState(api, theirs), { status: "queued", timeline: [] });
  t.same(await readClientEvents(api, other.id), []);
});

t.test("statuses with different platform ids that name the same message all count", async (t) => {
  const { api, tenant, sendStatuses } = await setUpNumber(t);
  const id = await insertMessage(api, tenant, {});
  const words = ["sent", "delivered", "read"];
  await sendStatuses(
    ...words.map((word) => status(`wamid.of-${word}`, word, { biz_opaque_callback_data: id })),
  );
  const { status: reached, platform_message_id, timeline } = await readMessageState(api, id);
  t.same([reached, platform_message_id], ["read", "wamid.of-sent"]);
  t.same(
    timeline.map((step) => step.status),
    words,
  );
  t.same(
    (await readClientEvents(api, tenant.id)).map(({ message_id }) => message_id),
    words.map(() => id),
  );
});

t.test("the event contains the message's id and its external_ref", async (t) => {
  const { api, tenant, channelId, sendStatuses } = await setUpNumber(t);
  const { headers } = await tenant.createKey("webhooks:manage");
  const withReference = await insertMessage(api, tenant, {
    platform_message_id: "wamid.1",
    external_ref: "order-9",
  });
  const plain = await insertMessage(api, tenant, { platform_message_id: "wamid.2" });
  const pricing = '{"billable":true, "n":12345678901234567890}';
  const deep = `${"[".repeat(9_000)}${"]".repeat(9_000)}`;
  await sendWebhook(
    api,
    JSON.stringify(
      statusWebhook("PHONE", [
        status("wamid.1", "sent", { pricing: "PRICING" }),
        status("wamid.2", "failed", { errors: ["DEEP"] }),
        status("wamid.3", "sent"),
      ]),
    )
      .replace("PHONE", JSON.stringify(await phoneOf(api, channelId)).slice(1, -1))
      .replace('"PRICING"', pricing)
      .replace('"DEEP"', deep),
  );
  const [one, other, unmatched] = await readClientEvents(api, tenant.id);
  t.match(one?.payload, {
    type: "message.status",
    key: "chatapp",
    channel_id: channelId,
    external_ref: "order-9",
    channel_external_ref: "shop-7",
    occurred_at: isoAt(),
    data: {
      message_id: withReference,
      platform_message_id: "wamid.1",
      status: "sent",
      at: isoAt(),
      recipient: "5511999998888",
      errors: [],
    },
  });
  t.match(one?.text, `"pricing":${pricing}}`);
  t.match(other?.payload, { channel_external_ref: "shop-7", data: { message_id: plain, status: "failed" } });
  t.notOk(other?.text.includes('"external_ref"'), "the message has no reference");
  t.match(other?.text, `"errors":[${deep}]`);
  t.match(await readMessageState(api, plain), { status: "failed", error: null }, "no reason was given");
  t.match(unmatched?.payload, { channel_external_ref: "shop-7", data: { message_id: null } });
  const listed = async (id: string) =>
    (await api.call("GET", `/api/webhooks/events?message_id=${id}`, { headers })).body.data.map(
      ({ id }: { id: string }) => id,
    );
  t.same(await listed(withReference), [one?.id]);
  t.same(await listed(plain), [other?.id]);
  await sendStatuses(
    status("wamid.1", "delivered"),
    status("wamid.1", "sent"),
    status("wamid.1", "delivered"),
  );
  t.equal((await listed(withReference)).length, 2, "each status has one event");
});

const phoneOf = async (api: Api, channelId: string) => {
  const [row] = await api.db.query<{ asset_id: string }>("select asset_id from channels where id = $1", [
    channelId,
  ]);
  return row?.asset_id ?? "";
};

t.test("the error of a failed message is stored, however incomplete it is", async (t) => {
  const { api, tenant, sendStatuses } = await setUpNumber(t);
  const noDetails = { title: null, message: null, details: null };
  const cases: [unknown, object | null][] = [
    [[ERROR], STORED_ERROR],
    [[{ code: "131026" }], { code: "131026", ...noDetails }],
    [
      [{ code: 131026, error_data: '{"details":"in a text"}' }],
      { code: 131026, ...noDetails, details: "in a text" },
    ],
    [[{ title: "Only a title" }], { code: "unknown", ...noDetails, title: "Only a title" }],
    [[{ code: { a: 1 }, title: [], message: {}, error_data: [] }], null],
    [[], null],
    [undefined, null],
    ["no", null],
    [[null], null],
  ];
  for (const [errors, stored] of cases) {
    const wamid = newWamid();
    const id = await insertMessage(api, tenant, { platform_message_id: wamid });
    await sendStatuses(status(wamid, "failed", { errors }));
    t.match(await readMessageState(api, id), { status: "failed", error: stored }, JSON.stringify(errors));
  }
});

t.test("a status that settles a retried message lets the next message to the person go", async (t) => {
  const { api, tenant, sendStatuses } = await setUpNumber(t);
  const [retried, next] = [await insertMessage(api, tenant), await insertMessage(api, tenant)];
  await insertSend(api, tenant, { id: retried, attempts: 1 });
  await insertSend(api, tenant, { id: next, state: "behind" });
  await sendStatuses(status(`wamid.${retried}`, "delivered", { biz_opaque_callback_data: retried }));
  t.same(await api.db.query("select id, state from sends"), [{ id: next, state: "waiting" }]);
});

t.test("a status deletes the send of its message, unless the send is claimed", async (t) => {
  const { api, tenant, sendStatuses } = await setUpNumber(t);
  const make = async (state: string, columns: { status?: string } = {}) => {
    const id = await insertMessage(api, tenant, columns);
    await insertSend(api, tenant, { id, state });
    return id;
  };
  const [waiting, leased, unknown, held, failed, bystander] = [
    await make("waiting"),
    await make("claimed"),
    await make("unknown", { status: "unknown" }),
    await make("waiting"),
    await make("waiting"),
    await make("waiting"),
  ];
  const statusFor = (id: string, word: string) =>
    status(`wamid.${id}`, word, { biz_opaque_callback_data: id });
  await sendStatuses(
    statusFor(unknown, "sent"),
    statusFor(waiting, "delivered"),
    statusFor(leased, "sent"),
    statusFor(held, "held"),
    statusFor(failed, "failed"),
  );
  t.same(await listPendingSends(api), [leased, held, bystander].sort());
  const states = await readMessageStates(api, [waiting, leased, unknown, held, failed, bystander]);
  t.same(
    states.map((state) => state.status),
    ["delivered", "sent", "sent", "queued", "failed", "queued"],
  );
  await api.db.query("update sends set state = 'waiting' where id = $1", [leased]);
  await sendStatuses(statusFor(leased, "sent"));
  t.same(
    await listPendingSends(api),
    [held, bystander].sort(),
    "deleted once it is unclaimed and the status is repeated",
  );
});

t.test("many statuses take one statement, which does not deadlock with a dispatcher", async (t) => {
  const { statements, database } = watchStatements();
  const { api, tenant, phoneNumberId } = await setUpNumber(t, { database });
  const messages: string[] = [];
  for (let index = 0; index < 400; index++) messages.push(newId("msg"));
  await api.db.query(
    `insert into messages (client_id, id, channel_id, platform, recipient, recipient_kind, type, content)
    select $1, id, 'ch', 'chatapp', '55', 'phone', 'text', '{}' from unnest($2::text[]) as id`,
    [tenant.id, messages],
  );
  const statuses = ["read", "sent", "delivered"].flatMap((word) =>
    messages.map((id) => status(`wamid.${id}`, word, { biz_opaque_callback_data: id })),
  );
  const webhook = JSON.stringify(statusWebhook(phoneNumberId, statuses));
  const sender = await connectRawClient(t, api.config.DATABASE_URL);
  await insertSend(api, tenant, { id: messages[7] as string, state: "unknown" });
  await sender.query("begin");
  await sender.query("select 1 from sends where id = $1 for update", [messages[7]]);
  statements.length = 0;
  const [both] = [Promise.all([sendWebhook(api, webhook), sendWebhook(api, webhook)])];
  await untilBlocked(sender, 2);
  await sender.query("update messages set status = 'failed', error = '{}' where id = $1", [messages[7]]);
  await sender.query("delete from sends where id = $1", [messages[7]]);
  await sender.query("commit");
  t.same(
    (await both).map((reply) => reply.status),
    [200, 200],
  );
  t.equal(statements.length, 6);
  const rows = await api.db.query<{ status: string; count: string }>(
    "select status, count(*) as count from messages where jsonb_array_length(timeline) = case status when 'read' then 3 else 0 end group by status order by status",
  );
  t.same(rows, [
    { status: "failed", count: "1" },
    { status: "read", count: "399" },
  ]);
  t.equal((await readClientEvents(api, tenant.id)).length, 1_200);
  const unknownStatuses = Array.from({ length: 200 }, (_, index) => status(`wamid.s${index}`, "sent"));
  statements.length = 0;
  await sendWebhook(api, statusWebhook(phoneNumberId, unknownStatuses));
  t.equal(statements.length, 3, "statuses of unknown messages take as few statements");
});

t.test(
  "a crash between the status and its event is repaired when the platform repeats the webhook",
  async (t) => {
    let failing = "";
    const { database } = watchStatements(async (text) => {
      if (failing !== "" && text.includes(failing)) throw new Error("crashed");
    });
    const { api, tenant, sendStatuses } = await setUpNumber(t, { database });
    const pageId = newPlatformId();
    const channelId = await makeChannel(api, tenant, { platform: "socialapp", pageId });
    const id = await insertMessage(api, tenant, { platform_message_id: "wamid.1" });
    const socialMessage = await insertMessage(api, tenant, {
      ...{ platform: "socialapp", channel_id: channelId, recipient: "9", recipient_kind: "scoped_id" },
      ...{ status: "sent", platform_message_id: "m_1" },
    });
    const sendWatermark = () =>
      sendWebhook(
        api,
        conversationWebhook("page", pageId, [
          { sender: { id: "9" }, read: { watermark: Date.now() + SECOND } },
        ]),
      );
    failing = "insert into events";
    t.equal((await sendStatuses(status("wamid.1", "sent"))).status, 500);
    t.equal((await sendWatermark()).status, 500);
    t.match(await readMessageState(api, id), { status: "sent" });
    t.match(
      await readMessageState(api, socialMessage),
      { status: "sent", timeline: [] },
      "a watermark is applied together with its event or not at all",
    );
    t.same(await readClientEvents(api, tenant.id), []);
    failing = "";
    t.equal((await sendStatuses(status("wamid.1", "sent"))).status, 200);
    t.equal((await sendWatermark()).status, 200);
    t.equal((await readMessageState(api, id)).timeline.length, 1);
    t.same(
      (await readClientEvents(api, tenant.id)).map(({ message_id }) => message_id),
      [id, socialMessage],
    );
  },
);
