import type { Test } from "tap";
import t from "tap";
import { pause } from "../../../src/runtime/async/timeouts-and-retries.ts";
import { NO_TRACKER } from "../../../src/runtime/watchdog.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { type ClaimQueue, createClaimLoop, type KeyRequest } from "../../../workers/dispatcher/claim-loop.ts";
import { createConcurrencyLimiter, DELIVERY_LANES } from "../../../workers/dispatcher/concurrency-limiter.ts";
import { createDeliveries } from "../../../workers/dispatcher/delivering/deliveries.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { insertDueDeliveries, openQueueContext } from "../../fixtures/events/queue-rows.ts";
import { until } from "../../fixtures/until.ts";

interface Row {
  key: string;
  dueAt: Date;
}

/** A queue in memory with ten slots. Each row that is started keeps its slot. */
function openQueue(t: Test, overrides: Partial<ClaimQueue<string, Row>> = {}) {
  const waiting: Row[] = [];
  const started: string[] = [];
  const requests: (readonly KeyRequest<string>[])[] = [];
  let used = 0;
  const queue: ClaimQueue<string, Row> = {
    idOf: (key) => key,
    keyOf: ({ key }) => key,
    dueAtOf: ({ dueAt }) => dueAt,
    freeSlots: () => 10 - used,
    acquire(_, count) {
      const taken = Math.min(count, 10 - used);
      used += taken;
      return taken;
    },
    release: (_, count) => {
      used -= count;
    },
    sleepOf: () => 0,
    poll: async () => [],
    async claim(wanted) {
      requests.push(wanted);
      return wanted.flatMap(({ key, max }) => take(key, max));
    },
    releaseClaim: async () => {},
    start: (rows) => void started.push(...rows.map(({ key }) => key)),
    ...overrides,
  };
  function take(key: string, max: number): Row[] {
    const taken = waiting.filter((row) => row.key === key).slice(0, max);
    for (const row of taken) waiting.splice(waiting.indexOf(row), 1);
    return taken;
  }
  const add = (...keys: string[]) => waiting.push(...keys.map((key) => ({ key, dueAt: new Date() })));
  const { loop, lines } = startLoop(t, queue);
  const free = (count: number) => {
    used -= count;
    loop.onSlotFree();
  };
  return { loop, lines, add, started, requests, free, freeSlots: () => 10 - used };
}

function startLoop<K, R>(t: Test, queue: ClaimQueue<K, R>) {
  const { log, lines } = captureLog();
  const loop = createClaimLoop({
    queue,
    mayClaim: () => true,
    hasWakeUps: () => true,
    onClaimed: () => {},
    log,
    logEvents: { unavailable: "delivery_claims.failed", recovered: "delivery_claims.recovered" },
  });
  void loop.start?.({ fail: (error) => void t.fail(String(error)) });
  t.teardown(() => loop.close?.());
  return { loop, lines };
}

t.test("the free slots are divided among the known keys", async (t) => {
  const { loop, add, started, requests } = openQueue(t);
  add(..."aaaaaaaaaaaa", "b");
  loop.wake(["a", "b"]);
  await until("both keys have started", () => started.includes("b"));
  t.match(requests[0], [
    { key: "a", max: 5 },
    { key: "b", max: 5 },
  ]);
  await until("the slots that b left are a's", () => started.length === 10);
  t.equal(started.filter((key) => key === "a").length, 9);
});

t.test("a key that is woken during its claim is claimed again", async (t) => {
  let answer = (_rows: Row[]) => {};
  let claims = 0;
  const { loop, started } = openQueue(t, {
    claim: async () => {
      claims += 1;
      return claims === 1
        ? new Promise<Row[]>((resolve) => {
            answer = resolve;
          })
        : [{ key: "a", dueAt: new Date() }];
    },
  });
  loop.wake(["a"]);
  await until("the claim runs", () => claims === 1);
  loop.wake(["a"]);
  answer([]);
  await until("the row is started", () => started.length > 0);
  t.equal(claims, 2);
});

t.test("a key that sleeps is not claimed, and is when its sleep ends", async (t) => {
  let isAsleep = true;
  const { loop, add, started, requests } = openQueue(t, {
    sleepOf: (key) => (key === "a" && isAsleep ? 20 : 0),
  });
  add("a", "b");
  loop.wake(["a", "b"]);
  await until("the other key has started", () => started.length === 1);
  t.notOk(requests.flat().some(({ key }) => key === "a"));
  isAsleep = false;
  await until("its sleep has ended", () => started.includes("a"));
});

/** Admits as many rows as there are tokens; a key sleeps while there are none. */
function createTokens(count: number) {
  let left = count;
  const admit = async (wanted: readonly KeyRequest<string>[]) =>
    wanted.map(({ max }) => {
      const admitted = Math.min(max, left);
      left -= admitted;
      return admitted;
    });
  const add = (more: number) => {
    left += more;
  };
  return { admit, sleepOf: () => (left > 0 ? 0 : 20), add };
}

t.test("a key that is admitted fewer rows than its slots is claimed again after its sleep", async (t) => {
  const tokens = createTokens(3);
  const { admit, sleepOf } = tokens;
  const { loop, add, started, requests, freeSlots } = openQueue(t, { admit, sleepOf });
  add(..."aaaaaaaaaa");
  loop.wake(["a"]);
  await until("the admitted rows have started", () => started.length >= 3);
  t.match(requests, [[{ key: "a", max: 3 }]]);
  t.equal(freeSlots(), 7);
  tokens.add(2);
  await until("its sleep has ended", () => started.length >= 5);
  t.match(requests[1], [{ key: "a", max: 2 }]);
  tokens.add(100);
  await until("all have started", () => started.length === 10);
  t.equal(freeSlots(), 0);
});

t.test("slots that are not admitted are free before the claim ends", async (t) => {
  let answer: ((rows: Row[]) => void) | undefined;
  const { admit, sleepOf } = createTokens(3);
  const { loop, started, freeSlots } = openQueue(t, {
    admit,
    sleepOf,
    claim: () =>
      new Promise<Row[]>((resolve) => {
        answer = resolve;
      }),
  });
  loop.wake(["a"]);
  await until("the claim runs", () => answer !== undefined);
  t.equal(freeSlots(), 7);
  t.equal(await loop.waitForSlots(), 10, "each slot counts once");
  answer?.([{ key: "a", dueAt: new Date() }]);
  await until("the row has started", () => started.length === 1);
  t.equal(freeSlots(), 9, "the slots that the claim did not use are free too");
});

t.test("a key that is admitted no rows is not claimed and stays known", async (t) => {
  let isAdmitted = false;
  const { loop, add, started, requests, freeSlots } = openQueue(t, {
    admit: async (wanted) => wanted.map(({ key, max }) => (key === "b" || isAdmitted ? max : 0)),
    sleepOf: (key) => (key === "a" && started.length > 0 && !isAdmitted ? 20 : 0),
  });
  add("a", "b");
  loop.wake(["a", "b"]);
  await until("the other key has started", () => started.length > 0);
  t.same(started, ["b"]);
  t.notOk(requests.flat().some(({ key }) => key === "a"));
  t.equal(freeSlots(), 9);
  isAdmitted = true;
  await until("it has started without a wake-up", () => started.includes("a"));
});

t.test("nothing is claimed when no key is admitted", async (t) => {
  const tokens = createTokens(0);
  let asked = 0;
  const { loop, add, started, requests, freeSlots } = openQueue(t, {
    admit(wanted) {
      asked += 1;
      return tokens.admit(wanted);
    },
    sleepOf: () => (asked > 0 ? tokens.sleepOf() : 0),
  });
  add("a");
  loop.wake(["a"]);
  await until("the key was asked for", () => asked === 1 && freeSlots() === 10);
  t.same(requests, []);
  tokens.add(1);
  await until("the row has started", () => started.length === 1);
});

t.test("a key that is woken for older rows is claimed from their time on", async (t) => {
  const { loop, add, started, requests } = openQueue(t);
  add("a");
  loop.wake(["a"]);
  await until("the first row has started", () => started.length === 1);
  const older = new Date(Date.now() - 60_000);
  add("a");
  loop.wakeSince([{ key: "a", after: older }]);
  await until("the second row has started", () => started.length === 2);
  t.same(
    requests.map(([request]) => request?.after),
    [null, older],
  );
});

t.test(
  "a row that is found during a claim is claimed next, also when the claim took later ones",
  async (t) => {
    let answer = (_rows: Row[]) => {};
    const afters: (Date | null)[] = [];
    const { loop } = openQueue(t, {
      claim: async ([request]) => {
        afters.push(request?.after ?? null);
        return afters.length > 1
          ? []
          : new Promise<Row[]>((resolve) => {
              answer = resolve;
            });
      },
    });
    const now = Date.now();
    const [oldest, found] = [new Date(now - 120_000), new Date(now - 60_000)];
    loop.wakeSince([{ key: "a", after: oldest }]);
    await until("the claim runs", () => afters.length === 1);
    loop.wakeSince([{ key: "a", after: found }]);
    answer([{ key: "a", dueAt: new Date(now) }]);
    await until("the key is claimed again", () => afters.length > 1);
    t.same(afters.slice(0, 2), [oldest, found]);
  },
);

t.test("keys that sleep keep no other key out", async (t) => {
  const { loop, add, started } = openQueue(t, { sleepOf: (key) => (key === "a" ? 0 : 60_000) });
  loop.wake(Array.from({ length: 2_000 }, (_, index) => `asleep ${index}`));
  add("a");
  await until("the key has started", () => {
    loop.wake(["a"]);
    return started.includes("a");
  });
});

t.test("a poll that does not return all keys is continued at the last one", async (t) => {
  const keys = Array.from({ length: 1_500 }, (_, index) => String(index).padStart(4, "0"));
  const lasts: (string | undefined)[] = [];
  openQueue(t, {
    async poll(last, limit) {
      lasts.push(last);
      const rest = keys.filter((key) => last === undefined || key > last).slice(0, limit);
      return rest.map((key) => ({ key, after: new Date() }));
    },
  });
  await until("it has polled three times", () => lasts.length >= 3);
  t.same(lasts.slice(0, 3), [undefined, "0999", undefined]);
});

t.test("keys that always have rows keep no other key out", async (t) => {
  const started = new Set<string>();
  const { loop, free } = openQueue(t, {
    claim: async (wanted) =>
      wanted.flatMap(({ key, max }) => Array.from({ length: max }, () => ({ key, dueAt: new Date() }))),
    start(rows) {
      for (const { key } of rows) started.add(key);
      setImmediate(() => free(rows.length));
    },
  });
  loop.wake(Array.from({ length: 1_000 }, (_, index) => `busy ${index}`));
  await until("the key has started", () => {
    loop.wake(["a"]);
    return started.has("a");
  });
});

t.test("an older row that the poll finds during a claim is in the next claim", async (t) => {
  const old = new Date(0);
  const [answers, requests]: [((rows: Row[]) => void)[], (readonly KeyRequest<string>[])[]] = [[], []];
  let polls = 0;
  const { loop } = openQueue(t, {
    async poll() {
      polls += 1;
      return [{ key: "a", after: old }];
    },
    claim(wanted) {
      requests.push(wanted);
      return new Promise((resolve) => answers.push(resolve));
    },
  });
  loop.wake(["a"]);
  await until("it has polled during the claim", () => answers.length === 1 && polls > 0);
  answers[0]?.([{ key: "a", dueAt: new Date() }]);
  await until("the next claim runs", () => answers.length === 2);
  t.same(
    requests.map(([request]) => request?.after),
    [null, old],
  );
  answers[1]?.([]);
});

t.test("a poll that failed late is repeated soon", async (t) => {
  const times: number[] = [];
  openQueue(t, {
    async poll() {
      times.push(performance.now());
      await pause(1_000);
      throw new Error("the connection was lost");
    },
  });
  await until("it has polled twice", () => times.length === 2);
  const [first = 0, second = 0] = times;
  t.ok(second - first < 15_000, `${second - first} ms`);
});

t.test("a closed loop claims nothing more, and what it has claimed is started", async (t) => {
  let answer = (_rows: Row[]) => {};
  const { loop, started } = openQueue(t, {
    claim: () =>
      new Promise<Row[]>((resolve) => {
        answer = resolve;
      }),
  });
  loop.wake(["a"]);
  await until("the claim runs", () => loop.waitForSlots().then((slots) => slots === 10));
  const closed = loop.close?.();
  loop.wake(["b"]);
  answer([{ key: "a", dueAt: new Date() }]);
  await closed;
  t.same(started, ["a"]);
  t.equal(await loop.waitForSlots(), 0);
});

t.test("rows of a claim whose answer was lost are claimed again", async (t) => {
  const context = await openQueueContext(t);
  const refs = await insertDueDeliveries(context, 3);
  const begun: string[] = [];
  let lostRows = 0;
  /** Loses the answer to the first claim. */
  const db = {
    ...context.db,
    async query(...args: Parameters<Database["query"]>) {
      const rows = await context.db.query(...args);
      if (lostRows > 0 || rows.length === 0) return rows;
      lostRows = rows.length;
      throw new Error("the connection was cut");
    },
  } as Database;
  const deliveries = createDeliveries({
    worker: "wrk_1",
    db,
    limiter: createConcurrencyLimiter({ slots: 20, lanes: DELIVERY_LANES }),
    sleepOf: () => 0,
    sleepingClients: () => [],
    mayClaim: () => true,
    isHeld: () => false,
    onSlotFree: () => {},
    batchWriter: { waitForDrain: async () => {}, finish: async () => {}, abandon: () => {} },
    tracker: NO_TRACKER,
    async deliver({ id }) {
      begun.push(id);
      throw new Error("the test needs no outcome");
    },
    record: () => {},
  });
  const { loop, lines } = startLoop(t, deliveries.queue);
  loop.wake([{ isBulk: false, clientId: context.clientId }]);
  await until("all deliveries have begun", () => begun.length === refs.length);
  t.equal(lostRows, refs.length);
  t.same(begun.sort(), refs.map(({ id }) => id).sort());
  t.match(lines, [{ event: "delivery_claims.failed" }, { event: "delivery_claims.recovered" }]);
  await loop.close?.();
  const rows = await context.db.query("select distinct lease from delivery_queue where worker_id = 'wrk_1'");
  t.equal(rows.length, 1, "no row keeps the lost lease");
});
