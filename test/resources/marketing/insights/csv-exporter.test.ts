import t from "tap";
import type { ListPageRequest } from "../../../../src/platforms/client/list-pages.ts";
import { createCsvExporter } from "../../../../src/resources/marketing/insights/csv.ts";
import { until } from "../../../fixtures/until.ts";

const ROWS = Array.from({ length: 500 }, () => ({ spend: "1.00" }));

t.test("an export without a reader reads no further page and holds its place until it ended", async (t) => {
  const pages: ListPageRequest[] = [];
  let finishPage = () => {};
  const gone = new AbortController();
  const exportCsv = createCsvExporter();
  const start = () =>
    exportCsv({
      caller: { clientId: "a" },
      callerGone: () => gone.signal,
      selection: { fields: ["spend"] },
      async readPage(page) {
        if (pages.push(page) === 2) await new Promise<void>((resolve) => (finishPage = resolve));
        return { items: ROWS, before: null, after: String(pages.length), hasMore: true };
      },
    });
  const { body } = await start();
  body.resume();
  await until("the second page is read", () => pages.length === 2);
  t.ok(pages.every(({ signal }) => signal === gone.signal));
  gone.abort();
  body.destroy();
  await t.rejects(start(), { code: "rate_limited", headers: { "Retry-After": "5" } });
  finishPage();
  await until("the export has ended", () => body.closed);
  t.equal(pages.length, 2);
  const next = await start();
  next.body.destroy();
});
