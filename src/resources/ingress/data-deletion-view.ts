import { html, type View } from "../../http/views/view.ts";
import type { DataDeletionRow } from "../../store/tenants/data-deletions.ts";

const pluralize = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;

const outcomeOf = ({ connections, channels, signups }: DataDeletionRow): string =>
  connections + channels + signups > 0
    ? `We have erased your identity and your access tokens from ${pluralize(connections, "ad connection")}, ${pluralize(channels, "messaging channel")} and ${pluralize(signups, "unfinished signup")}.`
    : "We had no data about you.";

export const dataDeletionView = (row: DataDeletionRow): View => ({
  title: "Your data was erased",
  content: html`<p>${outcomeOf(row)}</p>
<dl>
<dt>Confirmation code</dt><dd>${row.confirmation_code}</dd>
<dt>Erased</dt><dd>${row.erased_at.toISOString().slice(0, 16).replace("T", " ")} UTC</dd>
</dl>`,
});
