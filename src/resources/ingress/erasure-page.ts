import type { DataDeletionRow } from "../../store/data-deletions.ts";

/** Nothing but the page itself. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Everything in it is ours: a code that we made, numbers, a date. */
export function erasurePage({
  confirmation_code,
  connections,
  channels,
  erased_at,
}: DataDeletionRow): string {
  const found = connections + channels > 0;
  const outcome = found
    ? `We have erased your identity and your access tokens from ${counted(connections, "ad connection")} and ${counted(channels, "messaging channel")}.`
    : "There was nothing left that we knew of you.";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Your data was erased</title>
<style>
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: #f6f5f2; color: #22252b;
         font: 17px/1.55 system-ui, sans-serif; }
  main { max-width: 30rem; margin: 1.5rem; padding: 2rem; background: #fff; border-radius: 12px;
         box-shadow: 0 1px 3px #0002; }
  h1 { margin: 0 0 .75rem; font-size: 1.35rem; }
  dl { margin: 1.5rem 0 0; font-size: .9rem; color: #5b6069; }
  dd { margin: 0 0 .5rem; color: #22252b; overflow-wrap: anywhere; }
</style>
</head>
<body>
<main>
<h1>Your data was erased</h1>
<p>${outcome}</p>
<dl>
<dt>Confirmation code</dt><dd>${confirmation_code}</dd>
<dt>Erased</dt><dd>${erased_at.toISOString().slice(0, 16).replace("T", " ")} UTC</dd>
</dl>
</main>
</body>
</html>
`;
}
