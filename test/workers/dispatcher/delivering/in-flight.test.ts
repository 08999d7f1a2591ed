import { randomUUID } from "node:crypto";
import t from "tap";
import type { Parking } from "../../../../src/queue/parking.ts";
import { newId } from "../../../../src/runtime/ids.ts";
import type { Database } from "../../../../src/store/database/database.ts";
import type { ClaimedRow, Finish } from "../../../../src/store/events/claim-deliveries.ts";
import { createGate } from "../../../../workers/dispatcher/concurrency-limiter.ts";
import { createDeliveries } from "../../../../workers/dispatcher/delivering/in-flight.ts";
import { keptLog } from "../../../fixtures/captured-log.ts";
import { until } from "../../../fixtures/until.ts";

const newRow = (): ClaimedRow => ({
  client_id: randomUUID(),
  id: newId("evt"),
  attempts: 0,
  schedule_base: 0,
  type: "message.received",
  key: "chatapp",
  channel_id: null,
  payload: "{}",
  webhook_url: "https://backend.example",
  is_off: false,
  secret_sealed: null,
  former_secret_sealed: null,
  former_secret_until: null,
});

/** A database that hands out these rows, and a finisher that lets nothing begin before it is told to. */
function open(rows: readonly ClaimedRow[]) {
  const finishes: Finish[] = [];
  const begun: string[] = [];
  let goOn = () => {};
  let asked = 0;
  const calm = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const gate = createGate({ slots: 20, isUnhealthy: () => false, isOnTrial: () => false });
  const deliveries = createDeliveries({
    worker: "wrk_1",
    db: { query: async () => rows } as unknown as Database,
    log: keptLog().log,
    isAlive: () => true,
    gate,
    parking: {} as Parking,
    finisher: {
      calm: () => {
        asked += 1;
        return calm;
      },
      finish: async (finish) => void finishes.push(finish),
      giveUp: () => {},
    },
    async deliver(row) {
      begun.push(row.id);
      throw new Error("nothing is to be begun");
    },
    report: () => {},
  });
  const untilAsked = () => until("it waits for its turn", () => asked > 0);
  return { deliveries, gate, finishes, begun, untilAsked, goOn };
}

t.test("what was claimed and not begun is given back when the process is to end", async (t) => {
  const rows = [newRow(), newRow()];
  const { deliveries, gate, finishes, begun, untilAsked, goOn } = open(rows);
  const taken = deliveries.take(
    "events",
    rows.map(({ client_id, id }) => ({ clientId: client_id, id })),
  );
  await untilAsked();
  t.equal(gate.used(), 2);
  deliveries.stop();
  goOn();
  t.equal(await taken, true);
  await deliveries.idle();
  t.same(begun, []);
  t.match(finishes, [
    { id: rows[0]?.id, state: "pending", delay_ms: 0, attempt: null },
    { id: rows[1]?.id, state: "pending", delay_ms: 0, attempt: null },
  ]);
  t.equal(gate.used(), 0);
});
