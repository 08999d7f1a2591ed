import { type Database, type Queryable, sql } from "./database.ts";

/**
 * Where secrets are kept: every column whose name ends in `_sealed`, found in the schema itself so that none is
 * forgotten. Its table has a primary key `id`; the context of the secret is `<table>.<column>:<id>`.
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
  select t.relname as "table", c.attname as "column", format_type(i.atttypid, i.atttypmod) as "idType"
  from pg_class t
  join pg_attribute c on c.attrelid = t.oid and c.attname like '%\\_sealed' and not c.attisdropped
  join pg_attribute i on i.attrelid = t.oid and i.attname = 'id'
  where t.relnamespace = current_schema()::regnamespace
  and t.relkind in ('r', 'p')
  and not t.relispartition
  order by 1, 2`);

/** Over all clients: a rotation concerns the whole database. */
export const findSealedColumns = (db: Queryable): Promise<SealedColumn[]> => db.query<SealedColumn>(FIND);

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** Over all clients: by which key ids the column is sealed, and how often. */
export async function countByKey(
  db: Queryable,
  { table, column }: SealedColumn,
): Promise<Map<string, number>> {
  const rows = await db.query<{ key: string; count: string }>(`
    select split_part(${quoted(column)}, '.', 1) as key, count(*) as count
    from ${quoted(table)}
    where ${quoted(column)} is not null
    group by 1`);
  return new Map(rows.map(({ key, count }) => [key, Number(count)]));
}

/** Over all clients: the next values after an id that another key than this one sealed. */
export function readStale(
  db: Queryable,
  { table, column, idType }: SealedColumn,
  { keyId, after, limit }: { keyId: string; after: string | undefined; limit: number },
): Promise<SealedValue[]> {
  const position = after === undefined ? "" : `and id > $3::${idType}`;
  const values = [keyId, limit, ...(after === undefined ? [] : [after])];
  return db.query<SealedValue>(
    `select id::text as id, ${quoted(column)} as sealed
    from ${quoted(table)}
    where split_part(${quoted(column)}, '.', 1) <> $1
    ${position}
    order by ${quoted(table)}.id
    limit $2`,
    values,
  );
}

/** Over all clients: replaces values that are still as they were read, and answers how many those are. */
export async function replaceSealed(
  db: Database,
  { table, column, idType }: SealedColumn,
  values: readonly (SealedValue & { replacement: string })[],
): Promise<number> {
  const rows = await db.query(
    `update ${quoted(table)} as t
    set ${quoted(column)} = v.replacement
    from unnest($1::${idType}[], $2::text[], $3::text[]) as v (id, sealed, replacement)
    where t.id = v.id
    and t.${quoted(column)} = v.sealed
    returning 1 as one`,
    [
      values.map(({ id }) => id),
      values.map(({ sealed }) => sealed),
      values.map(({ replacement }) => replacement),
    ],
  );
  return rows.length;
}
