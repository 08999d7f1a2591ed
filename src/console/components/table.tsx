import type { ComponentChildren } from "preact";
import { ROW_LINK } from "../app/keyboard.ts";
import { texts } from "../texts.ts";

export interface Column<Row> {
  title: string;
  cell(row: Row): ComponentChildren;
  /** On a phone, a row is a card: the main column is its heading. It links to the row's screen. */
  isMain?: true;
  /** On a phone, it stands beside the heading of the card. */
  isState?: true;
  /** Left out on a phone. */
  isMinor?: true;
}

export interface Selection {
  ids: ReadonlySet<string>;
  isSelectable(id: string): boolean;
  change(ids: ReadonlySet<string>): void;
}

interface TableProps<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  idOf(row: Row): string;
  hrefOf?(row: Row): string;
  selection?: Selection | undefined;
  /** True for rows that are over: they are less visible. */
  isQuiet?(row: Row): boolean;
}

export const Table = <Row,>({
  caption,
  columns,
  rows,
  idOf,
  hrefOf,
  selection,
  isQuiet,
}: TableProps<Row>) => (
  <table>
    <caption class="hidden">{caption}</caption>
    <thead>
      <tr>
        {selection && (
          <th class="check" scope="col">
            <span class="hidden">{texts.selection}</span>
            <SelectAll selection={selection} ids={rows.map(idOf)} />
          </th>
        )}
        {columns.map(({ title, isMinor }) => (
          <th key={title} scope="col" class={isMinor && "minor"}>
            {title}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr
          key={idOf(row)}
          class={[hrefOf && "linked", isQuiet?.(row) && "quiet"].filter(Boolean).join(" ") || undefined}
        >
          {selection && (
            <td class="check">
              <SelectOne selection={selection} id={idOf(row)} />
            </td>
          )}
          {columns.map((column) => (
            <td key={column.title} data-label={column.title} class={classOf(column)}>
              {column.isMain && hrefOf ? (
                <a href={hrefOf(row)} {...{ [ROW_LINK]: "" }}>
                  {column.cell(row)}
                </a>
              ) : (
                column.cell(row)
              )}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
);

const classOf = ({ isMain, isState, isMinor }: Pick<Column<never>, "isMain" | "isState" | "isMinor">) =>
  isMain ? "main" : isState ? "state" : isMinor ? "minor" : undefined;

function SelectOne({ selection: { ids, isSelectable, change }, id }: { selection: Selection; id: string }) {
  if (!isSelectable(id)) return null;
  return (
    <input
      type="checkbox"
      aria-label={texts.select(id)}
      checked={ids.has(id)}
      onChange={({ currentTarget }) => {
        const next = new Set(ids);
        if (currentTarget.checked) next.add(id);
        else next.delete(id);
        change(next);
      }}
    />
  );
}

function SelectAll({ selection, ids }: { selection: Selection; ids: readonly string[] }) {
  const selectable = ids.filter(selection.isSelectable);
  if (selectable.length === 0) return null;
  const areAll = selectable.every((id) => selection.ids.has(id));
  return (
    <input
      type="checkbox"
      aria-label={texts.selectAll}
      checked={areAll}
      onChange={() => selection.change(new Set(areAll ? [] : selectable))}
    />
  );
}
