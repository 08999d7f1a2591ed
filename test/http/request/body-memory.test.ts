import t from "tap";
import { createBodyMemory } from "../../../src/http/request/body-memory.ts";

const TOTAL = 64_000_000;
const MB = 1_000_000;

t.test("each kind of routes has its part of the memory, and a key a quarter of it", async (t) => {
  const memory = createBodyMemory(TOTAL);
  const PARTS = [
    ["clients", 24 * MB],
    ["handedOn", 20 * MB],
    ["webhook", 8 * MB], // as much for known senders
    ["public", 4 * MB],
  ] as const;
  for (const [name, bytes] of PARTS) {
    const { shares } = memory.partOf(name, "a");
    const forLarge = (bytes * 7) / 8;
    t.ok(shares.tryTake("a", bytes / 8), name);
    t.equal(shares.tryTake("a", bytes / 8 + 1), undefined, `${name}: the share of a key`);
    t.ok(shares.tryTake("b", forLarge - bytes / 8), `${name}: one body is always within the share`);
    t.equal(shares.tryTake("c", 65_537), undefined, `${name}: the reserve is not for large bodies`);
    t.ok(shares.tryTake("c", 65_536), `${name}: the reserve is for small bodies`);
  }
});

t.test("strangers cannot take the memory of networks that have sent signed webhooks", async (t) => {
  const memory = createBodyMemory(TOTAL);
  memory.addKnownSender("known");
  const strangers = memory.partOf("webhook", "stranger").shares;
  t.ok(strangers.tryTake("stranger", 7 * MB));
  t.equal(strangers.tryTake("another stranger", 2 * MB), undefined);
  const known = memory.partOf("webhook", "known").shares;
  t.ok(known.tryTake("known", 4 * MB));
  t.ok(known.tryTake("known", 3 * MB), "without a share per network");
  t.not(memory.partOf("public", "known").shares, known);
});
