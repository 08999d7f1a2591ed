import t from "tap";
import { createShares, type Grant, ShareRefused } from "../../../src/runtime/async/shares.ts";

const DEFAULTS = { capacity: 1, maxWaitingPerKey: 10, maxWaitMs: 3_600_000 };

/** Shares whose first amount is taken by "first", and the order in which waiting keys are served. */
async function takenShares(options: Partial<Parameters<typeof createShares>[0]> = {}) {
  const shares = createShares({ ...DEFAULTS, ...options });
  const first = await shares.take("first", options.capacity ?? 1);
  const order: string[] = [];
  const wait = async (key: string, amount = 1, options = {}) => {
    const grant = await shares.take(key, amount, options);
    order.push(key);
    return grant;
  };
  /** Waits and releases at once. */
  const pass = async (key: string) => (await wait(key)).release();
  return { shares, first, order, wait, pass };
}

const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "granted",
    (error) => (error instanceof ShareRefused ? error.reason : String(error)),
  );

t.test("what is free goes to the waiting keys in turn, however many each of them has", async (t) => {
  const { first, order, pass } = await takenShares();
  const passed = ["a", "a", "a", "b", "b", "c"].map(pass);
  first.release();
  await Promise.all(passed);
  t.same(order, ["a", "b", "c", "a", "b", "a"]);
});

t.test("the waiting key that holds least is served first", async (t) => {
  const shares = createShares({ ...DEFAULTS, capacity: 4 });
  const held = ["a", "a", "b", "d"].map((key) => shares.tryTake(key, 1) as Grant);
  const order: string[] = [];
  const waiting = ["a", "b", "c"].map(async (key) => {
    const grant = await shares.take(key, 1);
    order.push(key);
    grant.release();
  });
  held[3]?.release();
  await Promise.all(waiting);
  t.same(order, ["c", "b", "a"]);
});

t.test("a key that has its share waits, and the others pass it", async (t) => {
  const shares = createShares({ ...DEFAULTS, capacity: 10, share: 3 });
  const held = await shares.take("a", 3);
  const more = shares.take("a", 1) as Promise<Grant>;
  t.ok(shares.tryTake("b", 3));
  t.equal(shares.tryTake("b", 1), undefined);
  held.release();
  t.ok(await more);
  t.ok(
    createShares({ ...DEFAULTS, capacity: 10, share: 3 }).tryTake("a", 8),
    "one grant is always within it",
  );
});

t.test("the firstKey is served before the others", async (t) => {
  const { first, order, pass } = await takenShares({ firstKey: "z" });
  const passed = ["a", "b", "z", "z"].map(pass);
  first.release();
  await Promise.all(passed);
  t.same(order, ["z", "z", "a", "b"]);
});

t.test("the reserve serves small amounts only", async (t) => {
  const shares = createShares({ ...DEFAULTS, capacity: 100, reserve: { amount: 20, upTo: 5 } });
  const large = await shares.take("a", 80);
  const waiting = shares.take("b", 6) as Promise<Grant>;
  t.ok(shares.tryTake("c", 5), "passes the large one that waits");
  t.equal(shares.tryTake("d", 6), undefined);
  large.release();
  t.ok(await waiting);
});

t.test("a large amount is not overtaken by others that are not small", async (t) => {
  const shares = createShares({ ...DEFAULTS, capacity: 10 });
  const held = await shares.take("a", 6);
  const large = shares.take("b", 8) as Promise<Grant>;
  t.equal(shares.tryTake("c", 2), undefined);
  const small = shares.take("c", 2) as Promise<Grant>;
  held.release();
  t.ok(await large);
  t.ok(await small);
});

t.test("an amount beyond the capacity is granted alone", async (t) => {
  const shares = createShares({ ...DEFAULTS, capacity: 10 });
  const held = await shares.take("a", 1);
  const large = shares.take("b", 20) as Promise<Grant>;
  held.release();
  t.ok(await large);
  t.equal(shares.tryTake("c", 1), undefined);
});

t.test("a refusal says whether the key's own share or the others were the reason", async (t) => {
  const options = { ...DEFAULTS, capacity: 2, share: 1, maxWaitMs: 1 };
  const shares = createShares(options);
  await shares.take("a", 1);
  t.equal(await reasonOf(shares.take("a", 1) as Promise<Grant>), "share");
  await shares.take("b", 1);
  t.equal(await reasonOf(shares.take("c", 1) as Promise<Grant>), "capacity");
  const full = createShares({ ...options, maxWaitingPerKey: 0 });
  await full.take("a", 1);
  t.equal(await reasonOf((async () => full.take("a", 1))()), "share", "nothing may wait");
});

t.test("a caller that has gone leaves the queue", async (t) => {
  const { shares, first, wait } = await takenShares();
  const gone = new AbortController();
  const waiting = reasonOf(wait("a", 1, { signal: gone.signal }));
  gone.abort();
  t.equal(await waiting, "gone");
  t.equal(await reasonOf(wait("a", 1, { signal: gone.signal })), "gone", "also when it has gone before");
  first.release();
  t.ok(shares.tryTake("b", 1));
});

t.test("a grant grows when there is room, and gives everything back", async (t) => {
  const shares = createShares({ ...DEFAULTS, capacity: 10, share: 4 });
  const grant = await shares.take("a", 1);
  await grant.grow(5); // alone, a grant may be larger than the share
  const other = await shares.take("b", 4);
  const growing = grant.grow(2) as Promise<void>;
  other.release();
  await growing;
  const last = await shares.take("b", 1);
  const refused = reasonOf(grant.grow(9) as Promise<void>);
  grant.release();
  t.equal(await refused, "gone", "a released grant does not grow");
  last.release();
  t.ok(shares.tryTake("c", 10));
});

t.test("room is made for a key within its share, not for one beyond it", async (t) => {
  const released: Grant[] = [];
  const shares = createShares({
    ...{ ...DEFAULTS, capacity: 3, share: 2 },
    makeRoom() {
      const grant = released.pop();
      grant?.release();
      return grant !== undefined;
    },
  });
  released.push(await shares.take("a", 1), await shares.take("b", 1));
  const held = await shares.take("c", 1);
  t.ok(await shares.take("c", 1));
  t.equal(released.length, 1);
  const waiting = shares.take("c", 1);
  t.equal(released.length, 1, "its own share is used up");
  held.release();
  t.ok(await waiting);
});

t.test("what is counted beyond the share makes the key wait", async (t) => {
  const shares = createShares({ ...DEFAULTS, capacity: 10, share: 2 });
  const counted = shares.count("a", 500);
  t.equal(shares.tryTake("a", 0), undefined);
  t.ok(shares.tryTake("b", 8), "the others lose the share of the key, not more");
  t.equal(shares.tryTake("c", 1), undefined);
  counted.release();
  t.ok(shares.tryTake("a", 0));
});

t.test("work that fails gives its amount back", async (t) => {
  const shares = createShares(DEFAULTS);
  const fail = () => Promise.reject(new Error("a defect"));
  await t.rejects(shares.run("a", 1, fail), { message: "a defect" });
  t.equal(await shares.run("a", 1, async () => "done"), "done");
});
