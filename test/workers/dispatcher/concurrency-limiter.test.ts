import t from "tap";
import type { EventLane } from "../../../src/queue/streams.ts";
import {
  type ConcurrencyLimiter,
  createConcurrencyLimiter,
} from "../../../workers/dispatcher/concurrency-limiter.ts";
import { DELIVERY_LANES, SEND_LANES } from "../../../workers/dispatcher/lanes.ts";

const HEALTHY = { lanes: DELIVERY_LANES, isUnhealthy: () => false, isHalfOpen: () => false };

/** Takes as many as there are for this client, and answers how many. */
function fill(limiter: ConcurrencyLimiter<EventLane>, clientId: string, lane: EventLane = "events"): number {
  let count = 0;
  while (limiter.acquire(lane, clientId)) count += 1;
  return count;
}

const CAPS: [string, number, Partial<Parameters<typeof createConcurrencyLimiter<EventLane>>[0]>, number][] = [
  ["a healthy one alone", 200, {}, 100],
  ["an unhealthy one", 200, { isUnhealthy: () => true }, 20],
  ["one on trial", 200, { isHalfOpen: () => true, isUnhealthy: () => true }, 1],
  ["a healthy one of few slots", 4, {}, 2],
  ["an unhealthy one of few slots", 4, { isUnhealthy: () => true }, 1],
  ["of one slot", 1, {}, 1],
];

t.test("how many slots one client may have", async (t) => {
  for (const [name, slots, parts, expected] of CAPS) {
    const limiter = createConcurrencyLimiter({ slots, ...HEALTHY, ...parts });
    t.equal(fill(limiter, "a"), expected, name);
    t.equal(limiter.used(), expected);
    t.equal(limiter.freeSlotsFor("events", "a"), 0);
  }
});

t.test(
  "greedy ones leave a quarter of the slots to all others, and the last tenth to the poorest",
  async (t) => {
    const limiter = createConcurrencyLimiter({ slots: 200, ...HEALTHY });
    t.equal(fill(limiter, "a"), 100);
    t.equal(fill(limiter, "b"), 51, "until fewer than a quarter are free");
    const others = ["c", "d", "e"].map((clientId) => fill(limiter, clientId));
    t.same(others, [20, 10, 2]);
    t.equal(limiter.freeSlotsIn("events"), 17);
  },
);

t.test(
  "what is told again in bulk has a tenth of the slots in all, and takes nothing from what is fresh",
  async (t) => {
    const limiter = createConcurrencyLimiter({ slots: 200, ...HEALTHY });
    t.equal(limiter.freeSlotsIn("bulk"), 20);
    t.equal(fill(limiter, "a", "bulk"), 10, "and one client half of that");
    t.equal(fill(limiter, "b", "bulk"), 10);
    t.equal(fill(limiter, "c", "bulk"), 0);
    t.equal(limiter.freeSlotsIn("events"), 180);
    t.equal(fill(limiter, "a"), 100);
  },
);

t.test("a slot that is given back can be had again, by whoever waits for one", async (t) => {
  const limiter = createConcurrencyLimiter({ slots: 1, ...HEALTHY });
  t.equal(limiter.acquire("events", "a"), true);
  t.equal(limiter.acquire("events", "b"), false);
  const freeSlots = Promise.all([limiter.waitForFreeSlots("events"), limiter.waitForFreeSlots("bulk")]);
  limiter.release("events", "a");
  t.same(await freeSlots, [1, 1]);
  t.equal(limiter.acquire("events", "b"), true);
  t.equal(limiter.used(), 1);
});

t.test("one that gets well has more at once", async (t) => {
  let isUnhealthy = true;
  const limiter = createConcurrencyLimiter({
    slots: 20,
    lanes: DELIVERY_LANES,
    isUnhealthy: () => isUnhealthy,
    isHalfOpen: () => false,
  });
  t.equal(fill(limiter, "a"), 2);
  isUnhealthy = false;
  t.equal(fill(limiter, "a"), 8);
});

t.test("sends have one lane, divided among channels in the same way", async (t) => {
  const limiter = createConcurrencyLimiter({ slots: 20, lanes: SEND_LANES });
  let count = 0;
  while (limiter.acquire("outbound", "ch_1")) count += 1;
  t.equal(count, 10);
  t.equal(limiter.acquire("outbound", "ch_2"), true);
});
