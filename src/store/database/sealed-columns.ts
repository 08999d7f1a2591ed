import { type Database, type Queryable, sql } from "./database.ts";

/**
 * Where secrets are kept: every column whose name ends in `_sealed`, found in the schema itself so that none is
 * forgotten. Its table has a unique `id`; the context of the secret is `<table>.<column>:<id>`.
 */
export interface SealedColumn {
  table: string;
  column: string;
  /** The type of its table's id. */
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

/** Over all clients: a rotation concerns the whole database. */
export async function findSealedColumns(db: Queryable): Promise<SealedColumn[]> {
  const columns = await db.query<SealedColumn>(FIND);
  const withoutId = columns.find(({ idType }) => idType === null);
  // Passed over in silence it would go on needing a key that everybody takes for unused.
  if (withoutId)
    throw new Error(`${withoutId.table}.${withoutId.column} cannot be rotated: its table has no unique id`);
  return columns;
}

const quoteIdentifier = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** What one key has sealed in a column, and one value of it: only that it opens proves that the key is the right one. */
export interface SealedKeyUsage {
  keyId: string;
  count: number;
  sample: SealedValue;
}

/** Over all clients: by which keys the column is sealed. */
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

/** Over all clients: the next values after an id that another key than this one sealed. */
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

/** Over all clients: replaces values that are still as they were read, and answers how many those are. */
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
