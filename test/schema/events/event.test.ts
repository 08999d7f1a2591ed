import t from "tap";
import { recordEvents } from "../../../src/domain/events/record-events.ts";
import { EVENT_TYPES, type EventType } from "../../../src/schema/enumerations.ts";
import { anyEventPayload, EVENT_PAYLOADS } from "../../../src/schema/events/event.ts";
import { createValidator } from "../../../src/schema/validate.ts";
import { createClient } from "../../../src/store/tenants/clients.ts";
import { makeEvents } from "../../fixtures/events/events.ts";
import { checkStoredEvents } from "../../fixtures/events/stored-events.ts";
import { openDatabase } from "../../fixtures/processes/schedulers.ts";

const check = createValidator().json(anyEventPayload, "the payload");
const exampleOf = (type: EventType): Record<string, unknown> => EVENT_PAYLOADS[type].examples?.[0];

t.test("the example of every event type matches the schema of events", async (t) => {
  for (const type of EVENT_TYPES) t.same(check(exampleOf(type)), [], type);
});

t.test("the check of payloads reports the problems of the event's own type", async (t) => {
  const payload = exampleOf("message.send_result");
  t.match(check({ ...payload, data: { message_id: "1" } }), [
    { path: "/data/outcome" },
    { path: "/data/message_id" },
  ]);
  t.match(check({ ...payload, colour: "red" }), [{ path: "/colour" }]);
  t.equal(check({ ...payload, type: "message.lost" }).length, 1);
});

t.test("an event whose payload is not documented fails the test that stores it", async (t) => {
  const db = await openDatabase(t);
  const { id: clientId } = await createClient(db, "A client");
  await makeEvents({ db }, { id: clientId }, {});
  await t.resolves(checkStoredEvents(db), "an event that a fixture made up is not checked");
  await db
    .transaction(async (tx) => {
      const data = { reason: "requested", colour: "red" };
      await recordEvents(tx, [{ clientId, type: "channel.disconnected", key: "chatapp", data }]);
      await t.rejects(checkStoredEvents(tx), /data.colour is not a known field/);
      throw new Error("rolled back");
    })
    .catch(() => {});
});
