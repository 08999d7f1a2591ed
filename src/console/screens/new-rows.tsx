import { ROW_LINK } from "../app/keyboard.ts";
import { texts } from "../texts.ts";
import { type LiveList, PAGE_ROWS } from "./live-list.ts";

type NewRowsProps = { list: Pick<LiveList<unknown>, "newCount" | "hasChanged" | "showNew"> };

/** Offers rows that have come since the list was shown; they would move the others. */
export const NewRows = ({ list: { newCount, hasChanged, showNew } }: NewRowsProps) => (
  <div class="new-rows" role="status">
    {(newCount > 0 || hasChanged) && (
      <button
        type="button"
        onClick={() => {
          showNew();
          requestAnimationFrame(() => document.querySelector<HTMLElement>(`[${ROW_LINK}]`)?.focus());
        }}
      >
        {newCount === 0 ? texts.changedRows : texts.newRows(newCount, newCount >= PAGE_ROWS)}
      </button>
    )}
  </div>
);
