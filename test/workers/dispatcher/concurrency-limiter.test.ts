import t from "tap";
import type { EventLane } from "../../../src/queue/streams.ts";
import { createGate, type Gate } from "../../../workers/dispatcher/concurrency-limiter.ts";

const HEALTHY = { isUnhealthy: () => false, isOnTrial: () => false };

/** Takes as many as there are for this client, and answers how many. */
function fill(gate: Gate, clientId: string, lane: EventLane = "events"): number {
  let count = 0;
  while (gate.take(lane, clientId)) count += 1;
  return count;
}

const CAPS: [string, number, Partial<Parameters<typeof createGate>[0]>, number][] = [
  ["a healthy one alone", 200, {}, 100],
  ["an unhealthy one", 200, { isUnhealthy: () => true }, 20],
  ["one on trial", 200, { isOnTrial: () => true, isUnhealthy: () => true }, 1],
  ["a healthy one of few slots", 4, {}, 2],
  ["an unhealthy one of few slots", 4, { isUnhealthy: () => true }, 1],
  ["of one slot", 1, {}, 1],
];

t.test("how many slots one client may have", async (t) => {
  for (const [name, slots, parts, expected] of CAPS) {
    const gate = createGate({ slots, ...HEALTHY, ...parts });
    t.equal(fill(gate, "a"), expected, name);
    t.equal(gate.used(), expected);
    t.equal(gate.roomFor("events", "a"), 0);
  }
});

t.test(
  "greedy ones leave a quarter of the slots to all others, and the last tenth to the poorest",
  async (t) => {
    const gate = createGate({ slots: 200, ...HEALTHY });
    t.equal(fill(gate, "a"), 100);
    t.equal(fill(gate, "b"), 51, "until fewer than a quarter are free");
    const others = ["c", "d", "e"].map((clientId) => fill(gate, clientId));
    t.same(others, [20, 10, 2]);
    t.equal(gate.roomIn("events"), 17);
  },
);

t.test(
  "what is told again in bulk has a tenth of the slots in all, and takes nothing from what is fresh",
  async (t) => {
    const gate = createGate({ slots: 200, ...HEALTHY });
    t.equal(gate.roomIn("bulk"), 20);
    t.equal(fill(gate, "a", "bulk"), 10, "and one client half of that");
    t.equal(fill(gate, "b", "bulk"), 10);
    t.equal(fill(gate, "c", "bulk"), 0);
    t.equal(gate.roomIn("events"), 180);
    t.equal(fill(gate, "a"), 100);
  },
);

t.test("a slot that is given back can be had again, by whoever waits for one", async (t) => {
  const gate = createGate({ slots: 1, ...HEALTHY });
  t.equal(gate.take("events", "a"), true);
  t.equal(gate.take("events", "b"), false);
  const rooms = Promise.all([gate.room("events"), gate.room("bulk")]);
  gate.give("events", "a");
  t.same(await rooms, [1, 1]);
  t.equal(gate.take("events", "b"), true);
  t.equal(gate.used(), 1);
});

t.test("one that gets well has more at once", async (t) => {
  let isUnhealthy = true;
  const gate = createGate({ slots: 20, isUnhealthy: () => isUnhealthy, isOnTrial: () => false });
  t.equal(fill(gate, "a"), 2);
  isUnhealthy = false;
  t.equal(fill(gate, "a"), 8);
});
