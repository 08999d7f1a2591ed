import t from "tap";
import { startApi } from "../../fixtures/http/api.ts";
import { issueChatToken, WABA_ID } from "../../fixtures/sandbox/assets.ts";
import { startSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";

/** Written as text: JSON.stringify of a JavaScript number would round the integers. */
const COMPONENTS =
  '[{"type":"BODY","text":"Your order is on its way.","source_id":9007199254740993,"ids":[-9223372036854775808]}]';
const TEMPLATE = `{"name":"long_integers","language":"pt_BR","category":"UTILITY","components":${COMPONENTS},"something_new":{"id":18446744073709551615}}`;

t.test("integers beyond 2^53 in templates", async (t) => {
  const sandbox = await startSandbox(t);
  const api = await startApi(t, { settings: { SANDBOX_PORT: new URL(sandbox.origin).port } });
  const tenant = await makeTenant(api);
  const channel = await makeChannel(api, tenant, { wabaId: WABA_ID, token: issueChatToken([WABA_ID]) });
  const { headers } = await tenant.createKey("templates:manage");
  const post = (name: string, fields: string) =>
    api.call("POST", `/api/templates/${name}`, { headers, raw: `{"channel_id":"${channel}",${fields}}` });

  t.test("a submitted template reaches the chat platform as written", async (t) => {
    const { status, body } = await post("submit", `"template_data":${TEMPLATE}`);
    t.equal(status, 200);
    t.match(body, { externalCode: 200, name: "long_integers" });
    const records = await fetch(`${sandbox.origin}/_sandbox/requests`);
    t.match(await records.text(), `"body":${TEMPLATE}`);
  });

  t.test("a listed template has the integers of its components", async (t) => {
    const { status, text } = await post("list", '"name":"long_integers"');
    t.equal(status, 200);
    t.match(text, `"components":${COMPONENTS}`);
  });

  const REFUSED: [what: string, name: string, fields: string, path: string, message: string][] = [
    ["a limit beyond 2^53", "list", '"limit":9007199254740993', "/limit", "limit is too large"],
    ["a limit beyond -2^53", "list", '"limit":-9007199254740993', "/limit", "limit is too small"],
    ["a limit beyond every number", "list", '"limit":1e400', "/limit", "limit is too large"],
    [
      "an integer beyond 2^53 as the name",
      "submit",
      `"template_data":${TEMPLATE.replace('"long_integers"', "9007199254740993")}`,
      "/template_data/name",
      "template_data.name must be a string",
    ],
  ];
  for (const [what, name, fields, path, message] of REFUSED)
    t.test(`${what} is refused`, async (t) => {
      const reply = await post(name, fields);
      t.equal(reply.status, 400);
      t.match(reply.body, { error: "validation_failed", details: [{ path, message }] });
    });
});
