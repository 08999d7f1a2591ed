import { firstIdAt, type IdPrefix, timeOfId } from "../../runtime/ids.ts";
import { type Database, type Queryable, sql } from "./database.ts";

/** Tables that are divided alike, by the time in the ids of one kind. */
export interface History {
  prefix: IdPrefix;
  tables: readonly [string, ...string[]];
}

export const EVENT_HISTORY: History = { prefix: "evt", tables: ["events", "deliveries", "attempts"] };
export const MESSAGE_HISTORY: History = { prefix: "msg", tables: ["messages"] };

/** A stretch of time, in milliseconds since 1970. */
interface Range {
  from: number;
  to: number;
}

const LOCK = sql("select pg_advisory_xact_lock(hashtext('herald:partitions'))");

/** Who waits for the locks of these holds up everybody else. */
const PATIENCE = "set local lock_timeout = '1s'";

const LIST = sql(`
  select pg_get_expr(c.relpartbound, c.oid) as bound
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  where i.inhparent = $1::regclass`);

async function rangesIn(db: Queryable, { tables: [first] }: History): Promise<Range[]> {
  const rows = await db.query<{ bound: string }>(LIST, [first]);
  const ranges = rows.flatMap(({ bound }) => {
    const [from, to] = [...bound.matchAll(/'([a-z]+_[0-9a-z]+)'/g)].map(([, id]) => timeOfId(id as string));
    return from === undefined || to === undefined ? [] : [{ from, to }];
  });
  return ranges.sort((one, other) => one.from - other.from);
}

/** The first day of the range names its partition. */
const partitionOf = (table: string, { from }: Range): string =>
  `${table}_${new Date(from).toISOString().slice(0, 10).replaceAll("-", "")}`;

interface Wanted {
  now: number;
  /** How long a stretch each partition holds. */
  span: number;
}

/** Sees to it that there is a partition for now and for the next two stretches; answers how many it made. */
export async function makePartitions(db: Database, history: History, wanted: Wanted): Promise<number> {
  let made = 0;
  while (await db.transaction((tx) => makeNext(tx, history, wanted))) made++;
  return made;
}

/** One at a time, so that nobody waits long for its locks. */
async function makeNext(tx: Queryable, history: History, { now, span }: Wanted): Promise<boolean> {
  await tx.query(LOCK);
  const last = (await rangesIn(tx, history)).at(-1);
  const from = last?.to ?? now - (now % span);
  if (from > now + 2 * span) return false;
  const { prefix, tables } = history;
  for (const table of tables) await makePartition(tx, { prefix, table }, { from, to: from + span });
  return true;
}

/** Made aside and then attached, which holds up nobody who reads or writes elsewhere in the table. */
async function makePartition(
  tx: Queryable,
  { prefix, table }: { prefix: IdPrefix; table: string },
  range: Range,
): Promise<void> {
  const [name, from, to] = [
    partitionOf(table, range),
    firstIdAt(prefix, range.from),
    firstIdAt(prefix, range.to),
  ];
  await tx.query(PATIENCE);
  await tx.query(`create table ${name} (like ${table} including defaults including constraints)`);
  // What came before its time: until it is moved, nobody may add to it.
  await tx.query(`lock table ${table}_default in access exclusive mode`);
  await tx.query(`insert into ${name} select * from ${table}_default where id >= '${from}' and id < '${to}'`);
  await tx.query(`delete from ${table}_default where id >= '${from}' and id < '${to}'`);
  await tx.query(`alter table ${table} attach partition ${name} for values from ('${from}') to ('${to}')`);
}

/** Drops what lies before that time as a whole; answers how many stretches those were. */
export async function dropPartitions(db: Database, history: History, before: number): Promise<number> {
  const old = (await rangesIn(db, history)).filter(({ to }) => to <= before);
  for (const range of old) await db.transaction((tx) => dropRange(tx, history, range));
  for (const table of history.tables)
    await db.query(`delete from ${table}_default where id < '${firstIdAt(history.prefix, before)}'`);
  return old.length;
}

async function dropRange(tx: Queryable, { tables }: History, range: Range): Promise<void> {
  await tx.query(LOCK);
  await tx.query(PATIENCE);
  for (const table of tables) await tx.query(`drop table if exists ${partitionOf(table, range)}`);
}
