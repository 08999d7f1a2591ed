import t from "tap";
import { debugToken, extendToken, requestPageManagerToken } from "../fixtures/sandbox/dialogs.ts";
import { callSandbox, startSandbox } from "../fixtures/sandbox/sandbox.ts";

const sandbox = await startSandbox(t);

const FIELDS = "id,name,access_token,tasks,instagram_business_account{id,username}";
const [COFFEE, TEA, SUSHI] = ["1300000000000401", "1300000000000402", "1300000000000403"] as const;

const list = (token: string, query: Record<string, string> = { fields: FIELDS }) =>
  callSandbox(`${sandbox.base}/me/accounts`, { token, query });

t.test("a page has its own token, its tasks and its photo account", async (t) => {
  const { status, body } = await list(await requestPageManagerToken(sandbox, { assets: [COFFEE] }));
  t.equal(status, 200);
  const [{ access_token: token, tasks, ...page }] = body.data;
  t.strictSame(page, {
    id: COFFEE,
    name: "Sandbox Coffee",
    instagram_business_account: { id: "1200000000000501", username: "sandbox.coffee" },
  });
  t.ok(tasks.includes("MESSAGING"));
  t.match((await debugToken(sandbox, token)).body.data, { type: "PAGE", is_valid: true, profile_id: COFFEE });
});

t.test(
  "the photo account is absent for a page without one and for a grant without instagram_basic",
  async (t) => {
    const sushi = await requestPageManagerToken(sandbox, { assets: [SUSHI] });
    const tokenWithoutInstagram = await requestPageManagerToken(sandbox, {
      permissions: ["pages_show_list"],
      assets: [COFFEE],
    });
    const [first, second] = [(await list(sushi)).body, (await list(tokenWithoutInstagram)).body];
    const next = (await callSandbox(first.paging.next)).body;
    t.equal(next.data[0].id, SUSHI);
    t.notOk("instagram_business_account" in next.data[0]);
    t.equal(second.data[0].id, COFFEE);
    t.notOk("instagram_business_account" in second.data[0]);
  },
);

t.test("only granted pages are listed, at most two per list page", async (t) => {
  const { body } = await list(await requestPageManagerToken(sandbox, { assets: [TEA, SUSHI] }), {
    fields: "id",
    limit: "100",
  });
  t.strictSame(body.data, [{ id: TEA }]);
  const { data, paging } = (await callSandbox(body.paging.next)).body;
  t.strictSame(data, [{ id: SUSHI }]);
  t.notOk("next" in paging);
});

t.test("the list requires pages_show_list", async (t) => {
  const token = await requestPageManagerToken(sandbox, {
    permissions: ["pages_messaging"],
    assets: [COFFEE],
  });
  const { status, body } = await list(token);
  t.equal(status, 403);
  t.equal(body.error.code, 10);
});

t.test("an unknown field is refused", async (t) => {
  const token = await requestPageManagerToken(sandbox, { assets: [COFFEE] });
  t.equal((await list(token, { fields: "id,wallpaper" })).body.error.code, 100);
});

t.test("a page token expires with a short-lived user token, and never with a long-lived one", async (t) => {
  const short = await requestPageManagerToken(sandbox, { assets: [COFFEE] });
  const long = (await extendToken(sandbox, short)).body.access_token;
  const expiryOf = async (token: string) => (await debugToken(sandbox, token)).body.data.expires_at;
  const [fromShort, fromLong] = [(await list(short)).body, (await list(long)).body];
  t.equal(await expiryOf(fromShort.data[0].access_token), await expiryOf(short));
  t.equal(await expiryOf(fromLong.data[0].access_token), 0);
});
