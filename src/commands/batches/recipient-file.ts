import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { CsvError, type Options, parse } from "csv-parse/sync";
import { CommandError } from "../command-line/command.ts";

/** A message of a batch, as the API takes it. */
export interface BatchEntry {
  to: string;
  external_ref?: string;
  components?: readonly object[];
}

/** A row of the file that can be sent. */
export interface RecipientRow {
  line: number;
  entry: BatchEntry;
}

/** A row of the file that cannot be sent. */
export interface InvalidRow {
  line: number;
  message: string;
}

export interface RecipientFile {
  rows: readonly RecipientRow[];
  invalid: readonly InvalidRow[];
  /** Of the bytes of the file, in hexadecimal digits. */
  sha256: string;
}

/** Reads a CSV file (RFC 4180) with one message in each row; throws a CommandError when it cannot be read as a whole. */
export async function readRecipientFile(file: string): Promise<RecipientFile> {
  const bytes = await readBytes(file);
  const [header, ...records] = parseCsv(file, bytes);
  if (!header) throw new CommandError(`${file} is empty: its first line must name the columns`);
  const toRow = createRowReader(readColumns(file, header.fields));
  const read = records.map(toRow);
  return {
    rows: read.flatMap((row) => ("entry" in row ? [row] : [])),
    invalid: read.flatMap((row) => ("entry" in row ? [] : [row])),
    sha256: createHash("sha256").update(bytes).digest("hex"),
  };
}

async function readBytes(file: string): Promise<Buffer> {
  const bytes = await readFile(file).catch((error: { code?: string }) => {
    throw new CommandError(`${file} cannot be read: ${error.code}`);
  });
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return bytes;
  } catch {
    throw new CommandError(`${file} is not UTF-8 text: save it as CSV with the encoding UTF-8`);
  }
}

interface CsvRecord {
  /** Where it begins. */
  line: number;
  fields: string[];
}

const CSV_OPTIONS = {
  bom: true,
  info: true,
  record_delimiter: ["\r\n", "\n", "\r"],
  relax_column_count: true, // a row with too many or too few fields is reported like other invalid rows
  skip_empty_lines: true,
} satisfies Options;

function parseCsv(file: string, bytes: Buffer): CsvRecord[] {
  try {
    const parsed = parse(bytes, CSV_OPTIONS) as unknown as { record: string[]; info: { bytes: number } }[];
    const lineAt = createLineCounter(bytes);
    const ends = [0, ...parsed.map(({ info }) => info.bytes)];
    const records = parsed.map(({ record }, index) => ({
      line: lineAt(ends[index] as number),
      fields: record,
    }));
    return records.filter(({ fields }) => fields.some((field) => field !== "")); // spreadsheets store empty rows as commas
  } catch (error) {
    if (error instanceof CsvError) throw new CommandError(`${file} is not a CSV file: ${error.message}`);
    throw error;
  }
}

const [LF, CR] = [10, 13];

/**
 * Returns a function that gives the line of the record after a position; the positions must ascend. The parser's own line
 * numbers count a CRLF inside of quotes twice.
 */
function createLineCounter(bytes: Buffer): (position: number) => number {
  let [line, counted] = [1, 0];
  return (position) => {
    for (; counted < position || bytes[counted] === CR || bytes[counted] === LF; counted++)
      if (bytes[counted] === LF || (bytes[counted] === CR && bytes[counted + 1] !== LF)) line++;
    return line;
  };
}

/** A column that is a variable of the template's body. */
interface VariableColumn {
  index: number;
  header: string;
  /** Of a named variable. */
  name?: string;
}

interface Columns {
  count: number;
  to: number;
  /** -1 without such a column. */
  externalRef: number;
  /** In the order of the variables. */
  variables: readonly VariableColumn[];
}

function readColumns(file: string, headers: readonly string[]): Columns {
  const fail = (problem: string) => new CommandError(`${file}, line 1: ${problem}`);
  const unnamed = headers.indexOf("");
  if (unnamed >= 0) throw fail(`column ${unnamed + 1} has no name`);
  const repeated = headers.find((header, index) => headers.indexOf(header) < index);
  if (repeated !== undefined) throw fail(`there are two columns ${repeated}`);
  const to = headers.indexOf("to");
  if (to < 0)
    throw fail(
      `there is no column to, but ${headers.join(" | ")}; a file has names of columns first, and commas between them`,
    );
  const variables = headers
    .map((header, index) => ({ header, index }))
    .filter(({ header }) => header !== "to" && header !== "external_ref");
  const ordered = orderVariables(variables);
  if (!ordered)
    throw fail("either all variables are columns body.1, body.2 and so on or body.NAME, or none of them is");
  return { count: headers.length, to, externalRef: headers.indexOf("external_ref"), variables: ordered };
}

const PREFIX = "body.";

/** Undefined when the columns are of different kinds, or numbers are missing. */
function orderVariables(columns: readonly VariableColumn[]): readonly VariableColumn[] | undefined {
  if (!columns.some(({ header }) => header.startsWith(PREFIX))) return columns;
  if (!columns.every(({ header }) => header.startsWith(PREFIX))) return undefined;
  const named = columns.map((column) => ({ ...column, name: column.header.slice(PREFIX.length) }));
  if (named.every(({ name }) => /^[a-z_]\w*$/i.test(name))) return named;
  const numbered = columns.map((_, index) => columns.find(({ header }) => header === PREFIX + (index + 1)));
  return numbered.includes(undefined) ? undefined : (numbered as VariableColumn[]);
}

/** The platform of the channel has further rules, which the API checks. */
const RECIPIENT = /^(?:\d+|[A-Z]{2}\.[A-Za-z0-9.]+)$/;

function createRowReader(columns: Columns): (record: CsvRecord) => RecipientRow | InvalidRow {
  return ({ line, fields }) => {
    const message = findProblem(columns, fields);
    return message === undefined ? { line, entry: toEntry(columns, fields) } : { line, message };
  };
}

function findProblem({ count, to, variables }: Columns, fields: readonly string[]): string | undefined {
  if (fields.length !== count) return `it has ${fields.length} columns instead of ${count}`;
  if (fields[to] === "") return "to is empty";
  if (!RECIPIENT.test(fields[to] as string))
    return "to must be a phone number with country code, digits only: no +, spaces or dashes";
  const empty = variables.find(({ index }) => fields[index] === "");
  return empty && `${empty.header} is empty`;
}

function toEntry({ to, externalRef, variables }: Columns, fields: readonly string[]): BatchEntry {
  const parameters = variables.map(({ index, name }) => ({
    type: "text",
    ...(name === undefined ? {} : { parameter_name: name }),
    text: fields[index],
  }));
  const reference = fields[externalRef];
  return {
    to: fields[to] as string,
    ...(reference ? { external_ref: reference } : {}),
    ...(parameters.length === 0 ? {} : { components: [{ type: "body", parameters }] }),
  };
}
