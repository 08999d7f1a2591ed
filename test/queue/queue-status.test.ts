import t from "tap";
import {
  type QueueGroups,
  WAIT_REASONS,
  waitingClientsOf,
  waitingWorkOf,
} from "../../src/queue/queue-status.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import { firstIdAt } from "../../src/runtime/ids.ts";
import type { QueueGroup } from "../../src/store/events/queue-metrics.ts";

const NOW = 1_800_000_000_000;
const [FIRST, SECOND_CLIENT] = [
  "6f1d3c2a-8a54-4f0e-9d0b-3a1f5c7e9b00",
  "6f1d3c2a-8a54-4f0e-9d0b-3a1f5c7e9b01",
];
const ago = (seconds: number) => NOW - seconds * SECOND;

const group = (situation: QueueGroup["situation"], count: number, changes: Partial<QueueGroup> = {}) => ({
  client_id: FIRST,
  situation,
  count,
  next_attempt_at: new Date(ago(count)),
  oldest_id: `${firstIdAt("evt", ago(100))}0000000000000000`,
  is_bulk: false,
  ...changes,
});

const OLD_ID = `${firstIdAt("evt", ago(9_000))}0000000000000000`;

const NOTHING: QueueGroups = { sends: [], deliveries: [], failedMessages: [], failedDeliveries: [] };
const NO_BREAKER = { isOwn: () => true, blockedClients: new Set<string>() };

t.test("every waiting row has one reason, and the total is their sum", async (t) => {
  const sends = [
    group("due", 1),
    group("order", 2),
    group("rate", 3),
    group("retry", 4),
    group("reconnect", 5),
    group("scheduled", 8, { next_attempt_at: new Date(ago(900)), oldest_id: OLD_ID }),
    group("paused", 9, { next_attempt_at: new Date(ago(900)), oldest_id: OLD_ID }),
    group("in_flight", 6),
    group("unknown", 7, { oldest_id: `${firstIdAt("evt", ago(300))}0000000000000000` }),
  ];
  const scope = { ...NO_BREAKER, lane: "outbound" } as const;
  const work = waitingWorkOf({ ...NOTHING, sends }, scope, NOW);
  const waiting = { due: 1, order: 2, rate: 3, retry: 4, reconnect: 5, breaker: 0, scheduled: 8, paused: 9 };
  t.same(work.waiting, { total: 32, ...waiting });
  t.equal(
    WAIT_REASONS.reduce((sum, reason) => sum + work.waiting[reason], 0),
    work.waiting.total,
  );
  t.match(work, { in_flight: 6, oldest_due_seconds: 1, oldest_accepted_seconds: 300, failed_24h: 0 });
});

t.test("a message that was scheduled, or whose batch was resumed, is as old as that", async (t) => {
  const sends = [group("due", 1, { oldest_id: OLD_ID, active_since: new Date(ago(30)) })];
  const scope = { ...NO_BREAKER, lane: "outbound" } as const;
  t.equal(waitingWorkOf({ ...NOTHING, sends }, scope, NOW).oldest_accepted_seconds, 30);
});

t.test("all deliveries of a client with a breaker wait for it, sends do not", async (t) => {
  const rows = [
    group("due", 1),
    group("retry", 2),
    group("in_flight", 3),
    group("rate", 4, { client_id: SECOND_CLIENT }),
  ];
  const groups = { ...NOTHING, sends: rows, deliveries: rows };
  const of = (lane: "events" | "outbound") =>
    waitingWorkOf(
      groups,
      { lane, isOwn: () => true, blockedClients: new Set(lane === "events" ? [FIRST] : []) },
      NOW,
    ).waiting;
  t.match(of("events"), { total: 7, breaker: 3, rate: 4, due: 0, retry: 0 });
  t.match(of("outbound"), { total: 7, breaker: 0, rate: 4, due: 1, retry: 2 });
});

t.test(
  "the clients with most waiting rows come first, one entry per stream and reason, at most 20",
  async (t) => {
    const deliveries = [
      group("due", 2),
      group("retry", 3),
      group("in_flight", 90),
      group("rate", 4, { client_id: SECOND_CLIENT }),
    ];
    const sends = [group("order", 1), group("reconnect", 7), group("unknown", 90)];
    const scopes = (["events", "bulk", "outbound"] as const).map((lane) => ({
      key: lane,
      lane,
      isOwn: () => true,
      blockedClients: new Set(lane === "outbound" ? [] : [FIRST]),
    }));
    t.same(waitingClientsOf({ ...NOTHING, sends, deliveries }, scopes), [
      { client_id: FIRST, stream: "outbound", waiting: 7, reason: "reconnect" },
      { client_id: FIRST, stream: "events", waiting: 5, reason: "breaker" },
      { client_id: SECOND_CLIENT, stream: "events", waiting: 4, reason: "rate" },
      { client_id: FIRST, stream: "outbound", waiting: 1, reason: "order" },
    ]);
    const many = Array.from({ length: 30 }, (_, index) =>
      group("due", index, { client_id: `client ${index}` }),
    );
    const largest = waitingClientsOf({ ...NOTHING, sends: many }, scopes);
    t.same([largest.length, largest[0]?.waiting, largest.at(-1)?.waiting], [20, 29, 10]);
  },
);

t.test("each stream counts its own rows and failures", async (t) => {
  const failed = [
    { client_id: FIRST, is_bulk: false, count: 1 },
    { client_id: SECOND_CLIENT, is_bulk: false, count: 2 },
    { client_id: FIRST, is_bulk: true, count: 4 },
  ];
  const deliveries = [
    group("due", 1),
    group("due", 2, { client_id: SECOND_CLIENT }),
    { ...group("due", 3), is_bulk: true },
  ];
  const groups = { ...NOTHING, deliveries, failedDeliveries: failed };
  const of = (lane: "events" | "bulk" | "outbound", client: number) => {
    const isOwn = (clientId: string) => clientId === [FIRST, SECOND_CLIENT][client];
    const scope = { lane, isOwn, blockedClients: new Set<string>() };
    const { waiting, failed_24h } = waitingWorkOf(groups, scope, NOW);
    return [waiting.total, failed_24h];
  };
  t.same(of("events", 0), [1, 1]);
  t.same(of("events", 1), [2, 2]);
  t.same(of("bulk", 0), [3, 4]);
  t.same(of("bulk", 1), [0, 0]);
  t.same(of("outbound", 0), [0, 0]);
});
