import t from "tap";
import { countWaiting, findAttention } from "../../src/console/screens/overview/attention.ts";
import type { Findings } from "../../src/console/screens/overview/findings.ts";
import { overviewTexts } from "../../src/console/texts/overview.ts";
import { DAY, HOUR } from "../../src/runtime/durations.ts";

const words = overviewTexts.attention;

const NOW = Date.parse("2026-11-18T12:00:00.000Z");
const at = (ms: number) => new Date(NOW + ms).toISOString();

const nameOf = (id: string) => `the channel ${id}`;

/** The parts that a test names are those that the judgement reads. */
const find = (findings: object) => findAttention(findings as Findings, nameOf, NOW);

const key = { key: "chatapp", waiting: 0, oldest_waiting_at: null, breaker: "closed", origin: null };
const queueOf = (...keys: object[]) => ({ held: false, data: keys.map((own) => ({ ...key, ...own })) });

t.test("nothing needs attention when nothing is found", async (t) => {
  t.same(find({}), []);
  t.same(
    find({
      ...{ queue: queueOf({}), failures: [], channels: [], pausedBatches: [] },
      ...{ terms: { version: "1", accepted: true, accepted_at: at(0) }, adAccounts: [] },
    }),
    [],
  );
});

t.test("the operator's hold is named", async (t) => {
  t.match(find({ queue: { ...queueOf({}), held: true } }), [{ id: "hold", text: words.held }]);
});

t.test("an open breaker names the backend, its error, what waits and the next attempt", async (t) => {
  const open = { breaker: "open", origin: "https://shop.example:8443", next_probe_at: at(30_000) };
  const queue = queueOf({ ...open, waiting: 200 }, { ...open, waiting: 14, key: "marketing" });
  t.equal(countWaiting({ queue } as Findings), 214);
  const [item, ...others] = find({ queue, oldestWaiting: { attempts: 5, last_error: "HTTP 503" } });
  t.same(others, []);
  t.same(item, {
    id: "backend",
    tone: "bad",
    text: "Your backend shop.example:8443 fails repeatedly (HTTP 503). 214 events wait.",
    time: { word: words.nextProbe, at: at(30_000) },
    link: { label: words.see.events, path: "/console/events", query: { status: "pending" } },
  });
});

t.test(
  "a backend that fails is named before its breaker opens, but not for events that are on their way",
  async (t) => {
    const queue = queueOf({ waiting: 1, oldest_waiting_at: at(-1 * HOUR) });
    t.same(find({ queue, oldestWaiting: { attempts: 0, last_error: null, recorded_at: at(-1_000) } }), []);
    t.match(
      find({ queue, oldestWaiting: { attempts: 1, last_error: "timeout", recorded_at: at(-1 * HOUR) } }),
      [
        {
          tone: "waiting",
          text: "Your backend did not accept an event (timeout). 1 event waits.",
          time: { word: words.since, at: at(-1 * HOUR) },
        },
      ],
    );
  },
);

t.test("a channel without access offers to connect it again and shows its messages", async (t) => {
  const channel = { channel_id: "ch_1", platform: "chatapp" };
  t.match(find({ channels: [channel] }), [
    {
      text: words.channel("the channel ch_1"),
      link: { path: "/console/messages", query: { status: "queued", channel_id: "ch_1" } },
      channel,
    },
  ]);
});

t.test("access that ends within two weeks or was lost in the last month is named", async (t) => {
  const account = { name: "Coffee", status: "active", token_expires_at: null, last_synced_at: at(-1 * HOUR) };
  const accounts = (...own: object[]) => ({ adAccounts: own.map((one) => ({ ...account, ...one })) });
  t.same(
    find(
      accounts(
        { token_expires_at: at(15 * DAY) },
        { token_expires_at: at(1 * DAY), status: "available" },
        { token_expires_at: at(1 * DAY), status: "disabled" },
        { status: "revoked", last_synced_at: at(-31 * DAY) },
      ),
    ),
    [],
  );
  t.match(
    find(
      accounts(
        { token_expires_at: at(9 * DAY), name: "Tea" },
        { token_expires_at: at(6 * DAY) },
        { token_expires_at: at(13 * DAY) },
        { status: "revoked", name: "Juice" },
      ),
    ),
    [
      { text: words.revoked("Juice"), link: { path: "/console/ads", query: { status: "revoked" } } },
      {
        text: words.expires("Coffee and 2 other ad accounts"),
        time: { at: at(6 * DAY) },
        link: { query: { status: "active" } },
      },
    ],
  );
});

t.test("terms are named when a client that uses advertising has not accepted those in force", async (t) => {
  const terms = { version: "2026-12-01", accepted: false, accepted_at: null };
  t.same(find({ terms, adAccounts: [] }), [], "the client does not use advertising");
  const account = { status: "available", token_expires_at: null };
  t.match(find({ terms, adAccounts: [account] }), [{ text: words.termsNeeded("2026-12-01") }]);
  t.match(find({ terms: { ...terms, accepted_at: at(-90 * DAY) } }), [
    { text: words.terms("2026-12-01"), link: { path: "/console/ads/terms" } },
  ]);
});

t.test("paused batches are named with their reason, many of them together", async (t) => {
  const batch = { batch_id: "bat_1", name: "spring", pause_reason: "template" } as const;
  t.match(find({ pausedBatches: [batch, { ...batch, batch_id: "bat_2", name: null }] }), [
    { text: words.batch("spring", "template"), link: { path: "/console/batches/bat_1" } },
    { text: words.batch("bat_2", "template") },
  ]);
  t.match(find({ pausedBatches: [batch, batch, batch, batch] }), [
    { text: words.batches(4), link: { path: "/console/batches", query: { status: "paused" } } },
  ]);
});

t.test(
  "failures are named with their meaning, and lead to the filtered list and the newest; tests are left out",
  async (t) => {
    const shared = { summary: "Because.", last_at: at(-1 * HOUR), sample_id: "x" };
    const message = { ...shared, kind: "message", channel_id: "ch_1", count: 12 };
    const delivery = { ...shared, kind: "delivery", key: "marketing", count: 1 };
    t.match(find({ failures: [message, delivery, { ...delivery, key: null }] }), [
      {
        text: "12 messages of the channel ch_1 failed. Because.",
        time: { at: at(-1 * HOUR) },
        link: { path: "/console/messages", query: { status: "failed", channel_id: "ch_1" } },
        sample: "/console/messages/x",
      },
      {
        text: "1 event was not delivered. Because.",
        link: { path: "/console/events", query: { status: "failed", key: "marketing" } },
        sample: "/console/events/x",
      },
    ]);
    const many = find({
      failures: [message, message, message, message, message, message, delivery, { ...message, count: 3 }],
    });
    t.equal(many.length, 7);
    t.match(many.slice(5), [
      {
        text: words.otherFailures.message(15),
        link: { path: "/console/messages", query: { status: "failed" } },
      },
      {
        text: words.otherFailures.delivery(1),
        link: { path: "/console/events", query: { status: "failed" } },
      },
    ]);
  },
);
