import { readConfig } from "../../src/runtime/config/config.ts";
import { DAY, HOUR } from "../../src/runtime/durations.ts";
import { firstIdAt, type IdPrefix } from "../../src/runtime/ids.ts";
import { createDatabase, type Database } from "../../src/store/database/database.ts";
import {
  createMissingPartitions,
  EVENT_TABLES,
  MESSAGE_TABLES,
} from "../../src/store/database/partitions.ts";
import { configureWebhook } from "../fixtures/events/events.ts";
import { cloneDatabase } from "../fixtures/servers/servers.ts";
import { type BenchContext, type Condition, heraldSettings } from "./context.ts";
import { makeChatChannel, repeat } from "./tenants.ts";

type History = NonNullable<Condition["history"]>;

/** Enough to fill the list pages of each client, with a failed event. */
const MIN_ROWS = 5_000;

/** Rows of the past days. */
const HISTORIES: Record<History, { days: number; events: number; messages: number }> = {
  "30-days": { days: 30, events: 2_000_000, messages: 1_000_000 },
  "1-day": { days: 1, events: MIN_ROWS, messages: MIN_ROWS },
};

/** Makes a database with each history once, when it is first needed. Contestants clone them. */
export function createHistories(scale: number) {
  const databases = new Map<History, Promise<string>>();
  const teardowns: (() => unknown)[] = [];
  async function make(history: History): Promise<string> {
    const url = await cloneDatabase({ teardown: (work) => void teardowns.push(work as () => unknown) });
    const config = readConfig(heraldSettings(url, "redis://127.0.0.1"));
    const db = createDatabase(config, () => {}, { statementTimeoutMs: "endless" });
    await storeRows({ db, config }, history, scale).finally(() => db.close());
    return new URL(url).pathname.slice(1);
  }
  return {
    /** Returns the name of the database. */
    find(history: History): Promise<string> {
      const database = databases.get(history) ?? make(history);
      databases.set(history, database);
      return database;
    },
    async close() {
      for (const work of teardowns) await work();
    },
  };
}

const OWNERS = 20;

/** A client whose events and messages are stored. */
export async function findHistoryClient({ db }: BenchContext): Promise<string> {
  const [row] = await db.query<{ client_id: string }>("select client_id from events limit 1");
  if (!row) throw new Error("no events are stored");
  return row.client_id;
}

/** Stores delivered events and accepted messages, and vacuums. The statements take minutes with millions of rows. */
async function storeRows(
  context: Pick<BenchContext, "db" | "config">,
  history: History,
  scale: number,
): Promise<void> {
  const { db } = context;
  const { days, events, messages } = HISTORIES[history];
  const hours = days * 24 - 1;
  const perHour = (total: number) => Math.ceil(Math.max(total * scale, MIN_ROWS) / hours);
  const owners = await Promise.all(repeat(OWNERS, () => makeChatChannel(context)));
  const clientIds = owners.map(({ clientId }) => clientId);
  for (const id of clientIds) await configureWebhook(context, { id }); // events of other clients are not retried
  const eventRows = [...hoursOf("evt", hours), clientIds, perHour(events)];
  const messageRows = [...hoursOf("msg", hours), clientIds, perHour(messages)];
  await createPartitions(db, days);
  await Promise.all([
    db.query(INSERT_EVENTS, [...eventRows, PAYLOAD]),
    db.query(INSERT_DELIVERIES, eventRows).then(() => db.query(INSERT_ATTEMPTS, eventRows)),
    db.query(INSERT_MESSAGES, [...messageRows, owners.map(({ id }) => id)]),
  ]);
  await db.query("vacuum analyze");
}

async function createPartitions(db: Database, days: number): Promise<void> {
  // The first call creates the oldest partitions, the second those from there until now.
  for (const now of [Date.now() - days * DAY, Date.now()]) {
    await createMissingPartitions(db, EVENT_TABLES, { now, spanMs: DAY });
    await createMissingPartitions(db, MESSAGE_TABLES, { now, spanMs: 2 * DAY });
  }
}

/** The beginnings of ids in each of the past hours, and the hours. */
function hoursOf(prefix: IdPrefix, hours: number): [string[], Date[]] {
  const first = Date.now() - hours * HOUR;
  const times = repeat(hours, (hour) => first + hour * HOUR);
  return [times.map((time) => firstIdAt(prefix, time)), times.map((time) => new Date(time))];
}

/** Rows of each hour, for each client in turn; one of a client's 100 is failed. An id has 26 characters after its prefix. */
const ROWS = `(
    select
      prefix || lpad(number::text, 16, '0') as id,
      at,
      ($3::uuid[])[1 + number % cardinality($3::uuid[])] as client_id,
      1 + number % cardinality($3::uuid[]) as owner,
      number,
      number / cardinality($3::uuid[]) % 100 = 50 as is_failed
    from unnest($1::text[], $2::timestamptz[]) with ordinality as hours (prefix, at, hour)
    cross join generate_series(1, $4::integer) as n
    cross join lateral (select hour * $4::integer + n) as numbered (number)
  ) as r`;

const INSERT_EVENTS = `
  insert into events (client_id, id, type, key, occurred_at, is_late, payload)
  select client_id, id, 'message.received', 'chatapp', at, false, replace($5, 'EVENT_ID', id)
  from ${ROWS}`;

const INSERT_DELIVERIES = `
  insert into deliveries (client_id, id, key, state, attempts, last_status_code, url, delivered_at, failed_at)
  select
    client_id,
    id,
    'chatapp',
    case when is_failed then 'failed' else 'delivered' end,
    1,
    case when is_failed then 500 else 200 end,
    'http://127.0.0.1/ok/chat/receiveMessage',
    case when not is_failed then at end,
    case when is_failed then at end
  from ${ROWS}`;

const INSERT_ATTEMPTS = `
  insert into attempts (client_id, id, attempt, at, status_code, duration_ms)
  select client_id, id, 1, at, case when is_failed then 500 else 200 end, 12
  from ${ROWS}`;

const INSERT_MESSAGES = `
  insert into messages (
    client_id, id, channel_id, platform, recipient, recipient_kind, type, content, status, platform_message_id, attempts
  )
  select
    client_id,
    id,
    ($5::text[])[owner],
    'chatapp',
    '55119' || lpad((number % 100000)::text, 8, '0'),
    'phone',
    'text',
    '{"body":"Your order has been shipped and will arrive on Monday."}',
    'accepted',
    'wamid.' || id,
    1
  from ${ROWS}`;

const PAYLOAD = JSON.stringify({
  id: "EVENT_ID",
  type: "message.received",
  key: "chatapp",
  occurred_at: "2026-01-01T00:00:00.000Z",
  data: { from: { id: "5511988887777" }, type: "text", content: { body: "Has my order been shipped?" } },
  raw: { from: "5511988887777", type: "text", text: { body: "Has my order been shipped?" } },
});

const WAITING_CHANNELS = 50;

/** Inserts messages to different people that wait. */
const INSERT_SENDS = `
  with waiting as (
    select
      ($1::uuid[])[1 + n % cardinality($1::uuid[])] as client_id,
      ($2::text[])[1 + n % cardinality($1::uuid[])] as channel_id,
      $3 || lpad(n::text, 16, '0') as id,
      '55119' || lpad(n::text, 8, '0') as recipient
    from generate_series(1, $4::integer) as n
  ),
  stored as (
    insert into messages (client_id, id, channel_id, platform, recipient, recipient_kind, type, content)
    select client_id, id, channel_id, 'chatapp', recipient, 'phone', 'text', '{"body":"Hi"}'
    from waiting
  )
  insert into sends (client_id, id, channel_id, recipient, expires_at)
  select client_id, id, channel_id, recipient, now() + interval '1 day'
  from waiting`;

/** Stores messages that wait to be sent. */
export async function storeWaitingSends(context: BenchContext, count: number): Promise<void> {
  const channels = await Promise.all(repeat(WAITING_CHANNELS, () => makeChatChannel(context)));
  await context.db.query(INSERT_SENDS, [
    channels.map(({ clientId }) => clientId),
    channels.map(({ id }) => id),
    firstIdAt("msg", Date.now()),
    context.count(count),
  ]);
}
