import { type Database, type Queryable, sql } from "./database.ts";

/**
 * A column of encrypted secrets: its name ends in `_sealed`. Columns are found in the schema so that none is
 * missed. The table has a unique `id`; the encryption context of a value is `<table>.<column>:<id>`.
 */
export interface SealedColumn {
  table: string;
  column: string;
  /** SQL type of the table's id. */
  idType: string;
}

export interface SealedValue {
  id: string;
  sealed: string;
}

const FIND = sql(`
  select distinct t.relname as "table", c.attname as "column", format_type(i.atttypid, i.atttypmod) as "idType"
  from pg_class t
  join pg_attribute c on c.attrelid = t.oid and c.attname like '%\\_sealed' and not c.attisdropped
  left join (pg_attribute i join pg_index x on x.indrelid = i.attrelid and x.indisunique and x.indpred is null)
    on i.attrelid = t.oid and i.attname = 'id' and x.indkey::text = i.attnum::text
  where t.relnamespace = current_schema()::regnamespace
  and t.relkind in ('r', 'p')
  and not t.relispartition
  order by 1, 2`);

/** Spans all clients: key rotation covers the whole database. */
export async function findSealedColumns(db: Queryable): Promise<SealedColumn[]> {
  const columns = await db.query<SealedColumn>(FIND);
  const withoutId = columns.find(({ idType }) => idType === null);
  // Skipping the column would leave secrets under a key that operators believe to be unused.
  if (withoutId)
    throw new Error(`${withoutId.table}.${withoutId.column} cannot be rotated: its table has no unique id`);
  return columns;
}

const quoteIdentifier = (name: string) => `"${name.replaceAll('"', '""')}"`;

/**
 * Values of a column sealed with one key. Opening the sample proves that the configured key is the right one.
 */
export interface SealedKeyUsage {
  keyId: string;
  count: number;
  sample: SealedValue;
}

/** Spans all clients: counts the column's values by the key that sealed them. */
export async function listKeyUsage(
  db: Queryable,
  { table, column, idType }: SealedColumn,
): Promise<SealedKeyUsage[]> {
  const rows = await db.query<SealedValue & { key: string; count: string }>(`
    select s.key, s.count, s.id, t.${quoteIdentifier(column)} as sealed
    from (
      select split_part(${quoteIdentifier(column)}, '.', 1) as key, count(*) as count, min(id::text) as id
      from ${quoteIdentifier(table)}
      where ${quoteIdentifier(column)} is not null
      group by 1
    ) s
    join ${quoteIdentifier(table)} t on t.id = s.id::${idType}`);
  return rows.map(({ key, count, id, sealed }) => ({
    keyId: key,
    count: Number(count),
    sample: { id, sealed },
  }));
}

/** Spans all clients: returns the next values after an id that are sealed with another key than `keyId`. */
export function listStaleValues(
  db: Queryable,
  { table, column, idType }: SealedColumn,
  { keyId, after, limit }: { keyId: string; after: string | undefined; limit: number },
): Promise<SealedValue[]> {
  const position = after === undefined ? "" : `and id > $3::${idType}`;
  const values = [keyId, limit, ...(after === undefined ? [] : [after])];
  return db.query<SealedValue>(
    `select id::text as id, ${quoteIdentifier(column)} as sealed
    from ${quoteIdentifier(table)}
    where split_part(${quoteIdentifier(column)}, '.', 1) <> $1
    ${position}
    order by ${quoteIdentifier(table)}.id
    limit $2`,
    values,
  );
}

/** Spans all clients: replaces values that have not changed since they were read; returns how many. */
export async function replaceSealedValues(
  db: Database,
  { table, column, idType }: SealedColumn,
  values: readonly (SealedValue & { replacement: string })[],
): Promise<number> {
  const rows = await db.query(
    `update ${quoteIdentifier(table)} as t
    set ${quoteIdentifier(column)} = v.replacement
    from unnest($1::${idType}[], $2::text[], $3::text[]) as v (id, sealed, replacement)
    where t.id = v.id
    and t.${quoteIdentifier(column)} = v.sealed
    returning 1 as one`,
    [
      values.map(({ id }) => id),
      values.map(({ sealed }) => sealed),
      values.map(({ replacement }) => replacement),
    ],
  );
  return rows.length;
}
