import { DAY, HOUR } from "../../../src/runtime/durations.ts";
import { firstIdAt, type IdPrefix } from "../../../src/runtime/ids.ts";
import { createDatabase, type Database } from "../../../src/store/database/database.ts";
import {
  createMissingPartitions,
  EVENT_TABLES,
  MESSAGE_TABLES,
} from "../../../src/store/database/partitions.ts";
import type { BenchContext } from "../frame/context.ts";

/** The beginnings of ids in each hour of the past days, and the hours. */
function hoursOf(prefix: IdPrefix, days: number): [string[], Date[]] {
  const first = Date.now() - days * DAY + HOUR;
  const times = Array.from({ length: days * 24 - 1 }, (_, hour) => first + hour * HOUR);
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

export interface StoredRows {
  /** The rows are spread over the past days. Events have a partition for each day, for today and for the next two. */
  days: number;
  events: number;
  messages: number;
  /** The clients that own the rows, with a channel each. */
  owners: readonly { clientId: string; channelId: string }[];
}

/** Stores delivered events and accepted messages, and vacuums. The statements take minutes with millions of rows. */
export async function storeRows({ config }: BenchContext, rows: StoredRows): Promise<void> {
  const db = createDatabase(config, () => {}, { statementTimeoutMs: "endless" });
  try {
    await createPartitions(db, rows.days);
    await insertRows(db, rows);
    await db.query("vacuum analyze");
  } finally {
    await db.close();
  }
}

async function createPartitions(db: Database, days: number): Promise<void> {
  // The first call creates the oldest partitions, the second those from there until now.
  for (const now of [Date.now() - days * DAY, Date.now()]) {
    await createMissingPartitions(db, EVENT_TABLES, { now, spanMs: DAY });
    await createMissingPartitions(db, MESSAGE_TABLES, { now, spanMs: 2 * DAY });
  }
}

async function insertRows(db: Database, { days, events, messages, owners }: StoredRows): Promise<void> {
  const clients = owners.map(({ clientId }) => clientId);
  const perHour = (total: number) => Math.ceil(total / (days * 24 - 1));
  const eventRows = [...hoursOf("evt", days), clients, perHour(events)];
  await Promise.all([
    db.query(INSERT_EVENTS, [...eventRows, PAYLOAD]),
    db.query(INSERT_DELIVERIES, eventRows).then(() => db.query(INSERT_ATTEMPTS, eventRows)),
    db.query(INSERT_MESSAGES, [
      ...hoursOf("msg", days),
      clients,
      perHour(messages),
      owners.map(({ channelId }) => channelId),
    ]),
  ]);
}
