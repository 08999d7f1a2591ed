import t from "tap";
import { requestUserToken } from "../fixtures/sandbox/dialogs.ts";
import { callSandbox, startSandbox } from "../fixtures/sandbox/sandbox.ts";

const sandbox = await startSandbox(t);

const FIELDS = "id,account_id,name,account_status,currency,timezone_name,business{id,name},business_name";
const COFFEE = "1600000000000101";
const TEA = "1600000000000103";
const PERSONAL = "1600000000000105";
const CLOSED = "1600000000000106";
const LAST = "1900000000000109";

const list = (token: string, query: Record<string, string> = { fields: FIELDS }) =>
  callSandbox(`${sandbox.base}/me/adaccounts`, { token, query: { limit: "100", ...query } });

/** Returns all pages by following `next` unchanged. */
async function readAllPages(token: string) {
  const pages = [(await list(token)).body];
  while (pages.at(-1).paging?.next) pages.push((await callSandbox(pages.at(-1).paging.next)).body);
  return pages;
}

t.test("an account shows the requested fields, and its id with and without prefix", async (t) => {
  const token = await requestUserToken(sandbox, { assets: [COFFEE] });
  const { status, body } = await list(token);
  t.equal(status, 200);
  t.strictSame(body.data, [
    {
      id: `act_${COFFEE}`,
      account_id: COFFEE,
      name: "Sandbox Coffee",
      account_status: 1,
      currency: "BRL",
      timezone_name: "America/Sao_Paulo",
      business: { id: "1700000000000009", name: "Sandbox Coffee Ltda" },
    },
  ]);
  const few = await list(token, { fields: "name,business{name}" });
  t.strictSame(few.body.data, [
    {
      name: "Sandbox Coffee",
      business: { name: "Sandbox Coffee Ltda", id: "1700000000000009" },
      id: `act_${COFFEE}`,
    },
  ]);
});

t.test("accounts without fields have only ids", async (t) => {
  const { body } = await list(await requestUserToken(sandbox, { assets: [TEA] }), {});
  t.strictSame(body.data, [{ account_id: TEA, id: `act_${TEA}` }]);
});

t.test("a personal account has a business name and no business", async (t) => {
  const pages = await readAllPages(await requestUserToken(sandbox, { assets: [PERSONAL] }));
  const [account] = pages.flatMap(({ data }) => data);
  t.notOk("business" in account);
  t.equal(account.business_name, "Sam S.");
});

t.test("business is hidden when business_management was declined", async (t) => {
  const token = await requestUserToken(sandbox, { permissions: ["ads_management"], assets: [COFFEE] });
  const [account] = (await list(token)).body.data;
  t.equal(account.name, "Sandbox Coffee");
  t.notOk("business" in account);
});

t.test("a page can be empty and have a next, and the last page has a cursor and no next", async (t) => {
  const pages = await readAllPages(await requestUserToken(sandbox, { assets: [CLOSED, LAST] }));
  t.same(
    pages.map(({ data }) => data.map(({ id }: { id: string }) => id)),
    [[], [`act_${CLOSED}`], [`act_${LAST}`]],
  );
  t.notOk("next" in pages.at(-1).paging);
  t.type(pages.at(-1).paging.cursors.after, "string");
});

t.test("next is a complete URL with the token, and after leads to the same page", async (t) => {
  const token = await requestUserToken(sandbox, { assets: [COFFEE, CLOSED] });
  const { paging } = (await list(token)).body;
  t.equal(new URL(paging.next).searchParams.get("access_token"), token);
  const [byNext, byCursor] = [
    await callSandbox(paging.next),
    await list(token, { fields: FIELDS, after: paging.cursors.after }),
  ];
  t.same(byNext.body.data, byCursor.body.data);
  t.equal(byNext.body.data[0].account_status, 101);
});

t.test("a grant without accounts has an empty list", async (t) => {
  const pages = await readAllPages(await requestUserToken(sandbox));
  t.equal(pages.length, 3);
  t.same(
    pages.flatMap(({ data }) => data),
    [],
  );
});

t.test("the list requires one of the two ads permissions", async (t) => {
  for (const [permissions, status] of [
    [["ads_management"], 200],
    [["ads_read"], 200],
    [["business_management"], 403],
    [[], 403],
  ] as const) {
    const token = await requestUserToken(sandbox, { permissions, assets: [COFFEE] });
    t.equal((await list(token)).status, status, permissions.join());
  }
});

t.test("an unknown field, an invalid cursor and an invalid limit are refused", async (t) => {
  const token = await requestUserToken(sandbox, { assets: [COFFEE] });
  for (const query of [{ fields: "id,shoe_size" }, { after: "nowhere" }, { limit: "0" }, { limit: "many" }])
    t.match(await list(token, query), { status: 400, body: { error: { code: 100 } } }, JSON.stringify(query));
  t.equal((await list(token, { fields: "business{id" })).body.error.code, 2500);
});
