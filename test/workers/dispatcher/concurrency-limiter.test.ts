import t from "tap";
import {
  type ConcurrencyLimiter,
  createConcurrencyLimiter,
  DELIVERY_LANES,
  type EventLane,
  SEND_LANES,
} from "../../../workers/dispatcher/concurrency-limiter.ts";

const HEALTHY = { lanes: DELIVERY_LANES, isUnhealthy: () => false, isHalfOpen: () => false };

/** Acquires all slots that this client can have; returns their number. */
function fill(limiter: ConcurrencyLimiter<EventLane>, clientId: string, lane: EventLane = "events"): number {
  let count = 0;
  while (limiter.acquire(lane, clientId)) count += 1;
  return count;
}

const CAPS: [string, number, Partial<Parameters<typeof createConcurrencyLimiter<EventLane>>[0]>, number][] = [
  ["a healthy client alone", 200, {}, 100],
  ["an unhealthy client", 200, { isUnhealthy: () => true }, 20],
  ["a half-open client", 200, { isHalfOpen: () => true, isUnhealthy: () => true }, 1],
  ["a healthy client with few slots", 4, {}, 2],
  ["an unhealthy client with few slots", 4, { isUnhealthy: () => true }, 1],
  ["a client with one slot in all", 1, {}, 1],
];

t.test("a client's slots are capped by its health", async (t) => {
  for (const [name, slots, parts, expected] of CAPS) {
    const limiter = createConcurrencyLimiter({ slots, ...HEALTHY, ...parts });
    t.equal(fill(limiter, "a"), expected, name);
    t.equal(limiter.used(), expected);
    t.equal(limiter.acquire("events", "a"), false);
  }
});

t.test(
  "busy clients leave a quarter of the slots to the others, and the last tenth to those with the fewest",
  async (t) => {
    const limiter = createConcurrencyLimiter({ slots: 200, ...HEALTHY });
    t.equal(fill(limiter, "a"), 100);
    t.equal(fill(limiter, "b"), 51, "until fewer than a quarter are free");
    const others = ["c", "d", "e"].map((clientId) => fill(limiter, clientId));
    t.same(others, [20, 10, 2]);
    t.equal(limiter.freeSlots(), 17);
  },
);

t.test(
  "replays have a tenth of the slots in all, and do not reduce a client's slots for fresh events",
  async (t) => {
    const limiter = createConcurrencyLimiter({ slots: 200, ...HEALTHY });
    t.equal(fill(limiter, "a", "bulk"), 10, "one client has half of that");
    t.equal(fill(limiter, "b", "bulk"), 10);
    t.equal(fill(limiter, "c", "bulk"), 0);
    t.equal(limiter.freeSlots(), 180);
    t.equal(fill(limiter, "a"), 100);
  },
);

t.test("a released slot can be acquired again", async (t) => {
  const limiter = createConcurrencyLimiter({ slots: 1, ...HEALTHY });
  t.equal(limiter.acquire("events", "a"), true);
  t.equal(limiter.acquire("events", "b"), false);
  limiter.release("events", "a");
  t.equal(limiter.acquire("events", "b"), true);
  t.equal(limiter.used(), 1);
});

t.test("a client that becomes healthy gets more slots immediately", async (t) => {
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

t.test("sends have one lane, whose slots are divided among channels", async (t) => {
  const limiter = createConcurrencyLimiter({ slots: 20, lanes: SEND_LANES });
  let count = 0;
  while (limiter.acquire("outbound", "ch_1")) count += 1;
  t.equal(count, 10);
  t.equal(limiter.acquire("outbound", "ch_2"), true);
});

t.test("batches leave a quarter of the slots to the single messages of any channel", async (t) => {
  for (const channel of ["ch_1", "ch_5"]) {
    const limiter = createConcurrencyLimiter({ slots: 100, lanes: SEND_LANES });
    t.same(
      ["ch_1", "ch_2", "ch_3"].map((id) => limiter.acquireUpTo("batches", id, 100)),
      [25, 25, 0],
    );
    t.equal(limiter.acquireUpTo("outbound", channel, 25), 25, channel);
  }
});
