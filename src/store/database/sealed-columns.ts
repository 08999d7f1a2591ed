import { type Database, type Queryable, sql } from "./database.ts";

/**
 * A column of encrypted secrets: its name ends in `_sealed`. Columns are found in the schema so that none is
 * missed. The encryption context of a value is `<table>.<column>:<id>`, where the id is the last column of the primary key.
 */
export interface SealedColumn {
  table: string;
  column: string;
  /** The columns of the table's primary key, with their SQL types. */
  key: readonly { name: string; type: string }[];
}

export interface SealedValue {
  /** The values of the primary key, as texts. */
  key: readonly string[];
  sealed: string;
}

const FIND = sql(`
  select t.relname as "table", c.attname as "column", (
      select json_agg(
        json_build_object('name', k.attname, 'type', format_type(k.atttypid, k.atttypmod))
        order by array_position(x.indkey::smallint[], k.attnum)
      )
      from pg_index x
      join pg_attribute k on k.attrelid = x.indrelid and k.attnum = any(x.indkey)
      where x.indrelid = t.oid
      and x.indisprimary
    ) as "key"
  from pg_class t
  join pg_attribute c on c.attrelid = t.oid and c.attname like '%\\_sealed' and not c.attisdropped
  where t.relnamespace = current_schema()::regnamespace
  and t.relkind in ('r', 'p')
  and not t.relispartition
  order by 1, 2`);

/** Spans all clients: key rotation covers the whole database. */
export async function findSealedColumns(db: Queryable): Promise<SealedColumn[]> {
  const columns = await db.query<SealedColumn>(FIND);
  const withoutKey = columns.find(({ key }) => key === null);
  // Skipping the column would leave secrets under a key that operators believe to be unused.
  if (withoutKey)
    throw new Error(
      `${withoutKey.table}.${withoutKey.column} cannot be rotated: its table has no primary key`,
    );
  return columns;
}

const quoteIdentifier = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** SQL: the columns of the primary key of the table `t`, and as an array of texts. */
const keyColumns = ({ key }: SealedColumn) => key.map(({ name }) => `t.${quoteIdentifier(name)}`).join(", ");
const keyTexts = ({ key }: SealedColumn) =>
  `array[${key.map(({ name }) => `t.${quoteIdentifier(name)}::text`).join(", ")}]`;

/**
 * Values of a column sealed with one key. Opening the sample proves that the configured key is the right one.
 */
export interface SealedKeyUsage {
  keyId: string;
  count: number;
  sample: SealedValue;
}

/** Spans all clients: counts the column's values by the key that sealed them. */
export async function listKeyUsage(db: Queryable, sealed: SealedColumn): Promise<SealedKeyUsage[]> {
  const [table, column] = [quoteIdentifier(sealed.table), `t.${quoteIdentifier(sealed.column)}`];
  const rows = await db.query<SealedValue & { keyId: string; count: string }>(`
    select s."keyId", s.count, s.key, ${column} as sealed
    from (
      select split_part(${column}, '.', 1) as "keyId", count(*) as count, min(${keyTexts(sealed)}) as key
      from ${table} t
      where ${column} is not null
      group by 1
    ) s
    join ${table} t
      on ${sealed.key.map(({ name, type }, index) => `t.${quoteIdentifier(name)} = s.key[${index + 1}]::${type}`).join(" and ")}`);
  return rows.map(({ keyId, count, key, sealed }) => ({
    keyId,
    count: Number(count),
    sample: { key, sealed },
  }));
}

/** Spans all clients: returns the next values after a key that are sealed with another key than `keyId`. */
export function listStaleValues(
  db: Queryable,
  sealed: SealedColumn,
  { keyId, after, limit }: { keyId: string; after: readonly string[] | undefined; limit: number },
): Promise<SealedValue[]> {
  const column = `t.${quoteIdentifier(sealed.column)}`;
  const position = sealed.key.map(({ type }, index) => `$${index + 3}::${type}`).join(", ");
  return db.query<SealedValue>(
    `select ${keyTexts(sealed)} as key, ${column} as sealed
    from ${quoteIdentifier(sealed.table)} t
    where split_part(${column}, '.', 1) <> $1
    ${after === undefined ? "" : `and (${keyColumns(sealed)}) > (${position})`}
    order by ${keyColumns(sealed)}
    limit $2`,
    [keyId, limit, ...(after ?? [])],
  );
}

/** Spans all clients: replaces values that have not changed since they were read; returns how many. */
export async function replaceSealedValues(
  db: Database,
  { table, column, key }: SealedColumn,
  values: readonly (SealedValue & { replacement: string })[],
): Promise<number> {
  const rows = await db.query(
    `update ${quoteIdentifier(table)} as t
    set ${quoteIdentifier(column)} = v.replacement
    from unnest(${["$1::text[]", "$2::text[]", ...key.map(({ type }, index) => `$${index + 3}::${type}[]`)].join(", ")})
      as v (${["sealed", "replacement", ...key.map((_, index) => `key_${index}`)].join(", ")})
    where ${key.map(({ name }, index) => `t.${quoteIdentifier(name)} = v.key_${index}`).join(" and ")}
    and t.${quoteIdentifier(column)} = v.sealed
    returning 1 as one`,
    [
      values.map(({ sealed }) => sealed),
      values.map(({ replacement }) => replacement),
      ...key.map((_, index) => values.map((value) => value.key[index])),
    ],
  );
  return rows.length;
}
