import t from "tap";
import { DAY, HOUR, MINUTE } from "../../../src/runtime/durations.ts";
import { newId, timeOfId } from "../../../src/runtime/ids.ts";
import { JsonText } from "../../../src/runtime/json/json.ts";
import {
  configureWebhook,
  makeEventAt,
  makeEvents,
  updateDelivery,
  WEBHOOK_URL,
} from "../../fixtures/events/events.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { readPages } from "../../fixtures/http/list-pages.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";

const ABSENT = "evt_01k9zv3m5q8x7w2r4t6y0a1b2c";

/** A client and its API calls for the event history. */
async function historyOf(api: Api) {
  const tenant = await makeTenant(api);
  const { headers } = await tenant.createKey("webhooks:manage");
  const list = (query = "") => api.call("GET", `/api/webhooks/events${query}`, { headers });
  return {
    tenant,
    headers,
    list,
    read: (id: string) => api.call("GET", `/api/webhooks/events/${id}`, { headers }),
    async ids(query = "") {
      const { body } = await list(query);
      return body.data.map(({ id }: { id: string }) => id);
    },
  };
}

t.test("event history", async (t) => {
  const api = await startApi(t);

  t.test("an event has all known fields, and null for the others", async (t) => {
    const { tenant, list } = await historyOf(api);
    await configureWebhook(api, tenant);
    const occurredAt = new Date(Date.now() - HOUR);
    const channelId = newId("ch");
    const [id] = await makeEvents(api, tenant, { occurredAt, channelId });
    const { body } = await list();
    t.equal(body.data.length, 1);
    const [{ next_attempt_at, ...event }] = body.data;
    t.ok(Date.parse(next_attempt_at) > Date.now() - MINUTE);
    t.same(event, {
      id,
      type: "message.received",
      key: "chatapp",
      channel_id: channelId,
      ad_account_id: null,
      status: "pending",
      skip_reason: null,
      attempts: 0,
      last_status_code: null,
      last_error: null,
      url: `${WEBHOOK_URL}/chat/receiveMessage`,
      occurred_at: occurredAt.toISOString(),
      recorded_at: new Date(timeOfId(id as string)).toISOString(),
      delivered_at: null,
    });
  });

  t.test("each delivery state is shown as its public status", async (t) => {
    const { tenant, list } = await historyOf(api);
    await configureWebhook(api, tenant);
    const expectedStatuses = {
      pending: "pending",
      retrying: "pending",
      delivered: "delivered",
      failed: "failed",
      skipped: "skipped",
      cancelled: "skipped",
    };
    for (const [state, status] of Object.entries(expectedStatuses)) {
      const [id] = await makeEvents(api, tenant, {});
      const at = new Date();
      await updateDelivery(api, id as string, { state, skip_reason: "disabled", next_attempt_at: at });
      const [event] = (await list("?limit=1")).body.data;
      t.match(event, { id, status }, state);
      t.equal(event.next_attempt_at, status === "pending" ? at.toISOString() : null, state);
      t.equal(event.skip_reason, status === "skipped" ? "disabled" : null, state);
    }
  });

  t.test("an event has the URL of its last attempt, or the URL the next one would use", async (t) => {
    const { tenant, list } = await historyOf(api);
    const [id] = await makeEvents(api, tenant, {
      type: "lead.created",
      key: "marketing",
      adAccountId: "act_7",
    });
    const expectedStatuses = async () => (await list()).body.data[0];
    t.match(await expectedStatuses(), {
      url: null,
      status: "skipped",
      skip_reason: "not_configured",
      ad_account_id: "act_7",
    });
    await configureWebhook(api, tenant, { url: "https://a.example" });
    t.equal((await expectedStatuses()).url, "https://a.example/marketing/events");
    await updateDelivery(api, id as string, { url: "https://b.example/marketing/events", attempts: 1 });
    t.equal((await expectedStatuses()).url, "https://b.example/marketing/events");
    await makeEvents(api, tenant, { type: "webhook.test", key: null });
    t.match(await expectedStatuses(), { url: "https://a.example", key: null, type: "webhook.test" });
  });

  t.test("events are paged newest first, forward and backward", async (t) => {
    const { tenant, list } = await historyOf(api);
    const created: string[] = [];
    for (let count = 0; count < 7; count++) created.unshift(...(await makeEvents(api, tenant, {})));
    const [first] = created;
    await updateDelivery(api, first as string, { state: "failed" });
    for (const filter of ["", "&key=chatapp", `&since=${new Date(Date.now() - HOUR).toISOString()}`]) {
      const { forward, backward } = await readPages<{ id: string }>((query) => list(query + filter), 3);
      for (const read of [forward, backward])
        t.same(
          read.map(({ id }) => id),
          created,
          filter,
        );
    }
    const { forward, backward } = await readPages<{ id: string }>(
      (query) => list(`${query}&status=skipped`),
      2,
    );
    for (const read of [forward, backward])
      t.same(
        read.map(({ id }) => id),
        created.slice(1),
      );
    const end = (await list("?limit=7")).body.paging;
    t.equal(end.has_more, false);
    t.same((await list(`?after=${end.cursors.after}`)).body, {
      data: [],
      paging: { cursors: { before: null, after: null }, has_more: false },
    });
  });

  t.test("events are filtered by each field, and by several combined", async (t) => {
    const { tenant, ids } = await historyOf(api);
    await configureWebhook(api, tenant);
    const [channelId, messageId] = [newId("ch"), newId("msg")];
    const [plain, status, lead] = (await makeEvents(
      api,
      tenant,
      {},
      { type: "message.status", channelId, messageId },
      { type: "lead.created", key: "marketing" },
    )) as [string, string, string];
    await updateDelivery(api, status, { state: "failed" });
    await updateDelivery(api, lead, { state: "delivered" });
    const expected: Record<string, string[]> = {
      "": [lead, status, plain],
      "?status=pending": [plain],
      "?status=failed": [status],
      "?status=delivered": [lead],
      "?status=skipped": [],
      "?key=chatapp": [status, plain],
      "?key=publishing": [],
      "?type=lead.created": [lead],
      [`?channel_id=${channelId}`]: [status],
      [`?channel_id=${newId("ch")}`]: [],
      [`?message_id=${messageId}`]: [status],
      [`?message_id=${newId("msg")}`]: [],
      "?key=chatapp&status=pending": [plain],
      "?key=chatapp&status=delivered": [],
      "?key=marketing&type=message.status": [],
      [`?key=chatapp&type=message.status&status=failed&channel_id=${channelId}&message_id=${messageId}`]: [
        status,
      ],
    };
    for (const [query, found] of Object.entries(expected)) t.same(await ids(query), found, query);
  });

  t.test("since and until filter by time of occurrence, inclusive at both ends", async (t) => {
    const { tenant, ids } = await historyOf(api);
    const noon = Date.parse("2026-06-10T12:00:00.000Z");
    const at = (milliseconds: number) => new Date(noon + milliseconds).toISOString();
    const early = await makeEventAt(api, tenant, noon - DAY);
    const exact = await makeEventAt(api, tenant, noon);
    const soon = await makeEventAt(api, tenant, noon + 3 * MINUTE, { occurred_at: new Date(noon - MINUTE) });
    const later = await makeEventAt(api, tenant, noon + 4 * MINUTE);
    const late = await makeEventAt(api, tenant, noon + 5 * DAY, {
      occurred_at: new Date(noon),
      is_late: true,
    });
    const lateAfter = await makeEventAt(api, tenant, noon + 6 * DAY, {
      occurred_at: new Date(noon + 3 * DAY),
      is_late: true,
    });
    const expected: Record<string, string[]> = {
      [`?since=${at(0)}`]: [lateAfter, late, later, exact],
      [`?since=${at(1)}`]: [lateAfter, later],
      [`?until=${at(0)}`]: [late, soon, exact, early],
      [`?until=${at(-1)}`]: [soon, early],
      [`?since=${at(0)}&until=${at(0)}`]: [late, exact],
      [`?since=${at(-2 * MINUTE)}&until=${at(-1)}`]: [soon],
      [`?since=${at(DAY)}`]: [lateAfter],
      [`?since=${at(-DAY)}&until=${at(3 * DAY)}`]: [lateAfter, late, later, soon, exact, early],
      [`?until=${at(0)}&status=skipped&key=chatapp`]: [late, soon, exact, early],
      [`?until=${at(0)}&status=failed`]: [],
      // The same instant with other UTC offsets.
      "?since=2026-06-10T14:00:00%2B02:00&until=2026-06-10%2005:00:00-07:00": [late, exact],
      "?since=0000-01-01T00:00:00Z": [lateAfter, late, later, soon, exact, early],
      "?until=0000-01-01T00:00:00Z": [],
      "?until=1969-07-20T20:17:40Z": [],
      "?since=9999-12-31T23:59:59-23:59": [],
      "?until=9999-12-31T23:59:59-23:59": [lateAfter, late, later, soon, exact, early],
    };
    for (const [query, found] of Object.entries(expected)) t.same(await ids(query), found, query);
  });

  t.test("invalid query parameters get 400", async (t) => {
    const [one, other] = [await historyOf(api), await historyOf(api)];
    await makeEvents(api, one.tenant, {}, {});
    const { after } = (await one.list("?limit=1")).body.paging.cursors;
    t.equal((await other.list(`?after=${after}`)).status, 400, "another client's cursor");
    const owner = (await one.tenant.createUser("owner")).headers;
    const audit = await api.call("GET", "/api/audit?limit=1", { headers: owner });
    const foreignCursor = audit.body.paging.cursors.after;
    const bad: Record<string, string> = {
      "limit=0": "/limit",
      "limit=5&limit=6": "/limit",
      "limit=101": "/limit",
      "limit=ten": "/limit",
      "after=x": "/after",
      "before=": "/before",
      [`after=${foreignCursor}`]: "/after",
      [`after=${after}&before=${after}`]: "/before",
      "status=cancelled": "/status",
      "status=": "/status",
      "status=failed&status=failed": "/status",
      "key=messages": "/key",
      "type=message": "/type",
      "channel_id=ch_1": "/channel_id",
      "channel_id=ch_%00": "/channel_id",
      [`message_id=${newId("evt")}`]: "/message_id",
      "since=yesterday": "/since",
      "since=2026-11-01": "/since",
      "since=2026-02-30T00:00:00Z": "/since",
      "since=2016-12-31T23:59:60Z": "/since",
      "since=2026-11-01T09:30:00%2B01": "/since",
      "since=2026-11-01T09:30:00+01:00": "/since",
      "until=2016-12-31T23:59:60Z": "/until",
      "until=1e12": "/until",
      "since=2026-11-02T00:00:00Z&until=2026-11-01T00:00:00Z": "/since",
      "page=2": "/page",
    };
    for (const [query, path] of Object.entries(bad)) {
      const { status, body } = await one.list(`?${query}`);
      t.equal(status, 400, query);
      t.match(body, { error: "validation_failed", details: [{ path }] }, query);
    }
  });

  t.test("a client sees only its own events", async (t) => {
    const [one, other] = [await historyOf(api), await historyOf(api)];
    const [id] = (await makeEvents(api, one.tenant, {})) as [string];
    for (const query of ["", "?status=skipped", "?key=chatapp", "?key=chatapp&status=skipped"]) {
      t.same(await one.ids(query), [id], query);
      t.same(await other.ids(query), [], query);
    }
    t.equal((await other.read(id)).status, 404);
  });

  t.test("an event is read with its exact payload and each attempt", async (t) => {
    const { tenant, read } = await historyOf(api);
    const odd = String.raw`{"big":12345678901234567890,"float":1.10,"odd":"\u0000\ud800\/","a":1,"a":2}`;
    const [id] = (await makeEvents(api, tenant, {
      type: "platform.event",
      data: { field: "odd", value: 1 },
      raw: new JsonText(odd),
    })) as [string];
    await updateDelivery(api, id, { state: "delivered", attempts: 2, delivered_at: new Date() });
    for (const [attempt, status_code, error] of [
      [2, 200, null],
      [1, null, "No answer within 15 s"],
    ])
      await api.db.query(
        `insert into attempts (client_id, id, attempt, at, status_code, duration_ms, error, response_excerpt)
        values ($1, $2, $3, '2026-11-01T09:30:00Z', $4, 15, $5, $6)`,
        [tenant.id, id, attempt, status_code, error, error ? null : "ok"],
      );
    const { status, text, body } = await read(id);
    t.equal(status, 200);
    const [stored] = await api.db.query<{ payload: string }>("select payload from events where id = $1", [
      id,
    ]);
    t.ok(stored?.payload.includes(odd));
    t.ok(text.includes(`"payload":${stored?.payload},`));
    t.match(body, { id, status: "delivered", payload: { id, data: { field: "odd" } } });
    const at = "2026-11-01T09:30:00.000Z";
    t.same(body.delivery_attempts, [
      {
        attempt: 1,
        at,
        status_code: null,
        duration_ms: 15,
        error: "No answer within 15 s",
        response_excerpt: null,
      },
      { attempt: 2, at, status_code: 200, duration_ms: 15, error: null, response_excerpt: "ok" },
    ]);
  });

  t.test("an unknown event gets 404 and a malformed id 400", async (t) => {
    const { read } = await historyOf(api);
    t.equal((await read(ABSENT)).status, 404);
    for (const id of ["evt_1", ABSENT.replace("evt_", "msg_"), ABSENT.toUpperCase(), "%00"])
      t.equal((await read(id)).status, 400, id);
  });
});
