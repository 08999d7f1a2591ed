import type { Paging } from "../../../sdk/src/generated/types.ts";
import { hrefOf, path, query } from "../app/router.ts";
import { texts } from "../texts.ts";

/** Links to the newer and the older rows. The cursor is in the address, so that a copied link shows the same rows. */
export function Pager({ paging }: { paging: Paging }) {
  const { before: newerCursor, after: olderCursor } = paging.cursors;
  const { before, after, ...filters } = query.value;
  // `has_more` speaks of the direction in which the page was asked for; the other direction has where it came from.
  const hasNewer = before === undefined ? after !== undefined : paging.has_more;
  const hasOlder = before === undefined ? paging.has_more : true;
  const href = (cursor: Record<string, string | undefined>) => hrefOf(path.value, { ...filters, ...cursor });
  const hasCursor = before !== undefined || after !== undefined;
  if (!hasCursor && !hasOlder) return null;
  return (
    <nav class="pager" aria-label={texts.pages}>
      {hasCursor && <a href={hrefOf(path.value, filters)}>{texts.newest}</a>}
      {hasNewer && newerCursor && <a href={href({ before: newerCursor })}>{texts.newer}</a>}
      {hasOlder && olderCursor && <a href={href({ after: olderCursor })}>{texts.older}</a>}
    </nav>
  );
}
