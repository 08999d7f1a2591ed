import { writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import t, { type Test } from "tap";
import { EVENT_TYPES } from "../../src/schema/enumerations.ts";
import { startBackend } from "../fixtures/events/backends.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { startSandbox, startWebhookReceiver } from "../fixtures/sandbox/sandbox.ts";
import { makeTempFolder } from "../fixtures/servers/folders.ts";

const KEY = "svc_test_01jc8m4t7v2x5k9w3r6y1b0nqd_secret";
const DELIVERED = { event_id: "evt_1", delivered: true, status_code: 200, duration_ms: 7, error: null };

/** An API that records the bodies it gets and answers like this. */
async function startAnswering(t: Test, status: number, answer: object) {
  // biome-ignore lint/suspicious/noExplicitAny: the tests know the shape
  const bodies: any[] = [];
  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    bodies.push({ path: request.url, body: await json(request).catch(() => null) });
    response.writeHead(status).end(JSON.stringify(answer));
  };
  const { url } = await startBackend(t, listener);
  return { bodies, herald: createCommandRunner(t, { HERALD_URL: url, HERALD_API_KEY: KEY }) };
}

t.test("values are set inside data; digits stay text", async (t) => {
  const { bodies, herald } = await startAnswering(t, 200, DELIVERED);
  const set = (...values: string[]) => values.flatMap((value) => ["--set", value]);
  const values = set(
    "data.from.id=5511988887777",
    "from.name=Zoë = a",
    "errors:=[1]",
    "seen=true",
    "context=null",
    "count:=12345678901234567890",
    "text={not json",
    "list.0=a",
  );
  const { code, out } = await herald(["trigger", "message.received", ...values, "--key", "photoapp"]);
  t.same([code, out], [0, "evt_1  delivered  200  7 ms\n"]);
  t.match(bodies[0], {
    path: "/api/webhooks/test",
    body: {
      type: "message.received",
      key: "photoapp",
      wait: true,
      data: {
        from: { id: "5511988887777", name: "Zoë = a" },
        errors: [1],
        seen: true,
        context: null,
        text: "{not json",
        list: { 0: "a" },
      },
    },
  });

  const file = join(makeTempFolder(t), "data.json");
  writeFileSync(file, '{"from": {"id": "1"}, "items": ["a", "b"]}');
  await herald([
    "trigger",
    "lead.created",
    "--file",
    file,
    ...set("items.1=c", "__proto__.x=1"),
    "--no-wait",
  ]);
  t.match(bodies[1]?.body, { wait: false, data: { from: { id: "1" }, items: ["a", "c"] } });
  t.equal(Object.hasOwn(bodies[1]?.body.data, "__proto__"), true, "a field like any other");
  await herald("trigger lead.created --file -", '{"ad_id": "7"}');
  t.same(bodies[2]?.body.data, { ad_id: "7" });
});

t.test("the outcome of each event is printed", async (t) => {
  const skipped = { event_id: "evt_1", delivered: false, status_code: null, error: "not_configured" };
  const refused = await startAnswering(t, 200, skipped);
  const twice = await refused.herald("trigger webhook.test --count 2");
  t.equal(twice.code, 0, "the event is recorded");
  t.equal(twice.out, "evt_1  not delivered: not_configured\n".repeat(2));
  t.same((await refused.herald("trigger webhook.test --json")).json, { data: [skipped] });
  const { herald } = await startAnswering(t, 202, { event_id: "evt_2" });
  t.equal((await herald("trigger webhook.test --no-wait")).out, "evt_2  recorded\n");
});

t.test("an error of the API is printed with its code and what to do", async (t) => {
  const error = { error: "test_key_required", message: "A live key sends no test events" };
  const { herald } = await startAnswering(t, 403, error);
  const { code, out, err } = await herald("trigger message.status");
  t.same([code, out], [1, ""]);
  t.match(err, /403 test_key_required: A live key sends no test events\nTest events need a svc_test_ key/);
  t.notMatch(err, KEY);
  const away = createCommandRunner(t, { HERALD_URL: "http://127.0.0.1:1", HERALD_API_KEY: KEY });
  t.match(await away("trigger message.status"), {
    code: 1,
    err: /http:\/\/127\.0\.0\.1:1 does not answer: /,
  });
});

t.test("--list shows every type with its keys", async (t) => {
  const herald = createCommandRunner(t, {});
  const { json } = await herald("trigger --list --json");
  t.same(
    json.data.map(({ type }: { type: string }) => type),
    EVENT_TYPES,
  );
  t.match(json.data[0], { keys: ["chatapp", "photoapp", "socialapp"], meaning: /^A person sent/ });
  const test = json.data.find(({ type }: { type: string }) => type === "webhook.test");
  t.ok(test.keys.includes("embedded_signup"));
  t.match((await herald("trigger --list")).out, /^type +keys +meaning\nmessage\.received +chatapp,photoapp/);
});

t.test("wrong options are usage errors", async (t) => {
  const herald = createCommandRunner(t, { HERALD_URL: "http://localhost:1", HERALD_API_KEY: KEY });
  const wrong: [string, RegExp][] = [
    ["", /name a type; --list shows them/],
    ["message.status --set from", /--set must be PATH=VALUE/],
    ["message.status --set a..b=1", /--set must be PATH=VALUE/],
    ["message.status --set data=1", /--set must be PATH=VALUE/],
    ["message.status --set a:=x", /--set with := the value must be JSON/],
    ["message.status --count 0", /--count must be a number from 1 to 1000/],
    ["message.status --key nonsense", /--key must be one of/],
    ["message.status --text a", /are for --inbound/],
    ["--inbound text", /--inbound needs --from/],
    ["--inbound image --from 1 --text a", /--text is for --inbound text/],
    ["--inbound text --from 1 --set a=b", /--inbound is not combined/],
  ];
  for (const [args, message] of wrong) {
    const { code, err } = await herald(`trigger ${args}`.trim());
    t.equal(code, 2, args);
    t.match(err, message);
  }
  t.match(await herald("trigger message.status --file /no/such/file"), {
    code: 1,
    err: /cannot be read: ENOENT/,
  });
  t.match(await herald("trigger message.status --file -", "[]"), {
    code: 1,
    err: /standard input is not a JSON/,
  });
});

t.test("--inbound lets the sandbox receive a message", async (t) => {
  const receiver = await startWebhookReceiver(t);
  const { origin } = await startSandbox(t, { settings: { PUBLIC_URL: receiver.url } });
  const channel = "ch_01jc8m4t7v2x5k9w3r6y1b0nqd";
  const page = { platform: "socialapp", page_id: "1300000000000401", phone_number_id: null };
  const { url } = await startBackend(t, (_, response) => void response.end(JSON.stringify(page)));
  const settings = { HERALD_URL: url, HERALD_API_KEY: KEY, SANDBOX_URL: origin };
  const herald = createCommandRunner(t, settings);
  const chat = await herald(["trigger", "--inbound", "text", "--from", "5511988887777", "--text", "Olá"]);
  t.match(chat, { code: 0, out: /received by 1400000000000301\n$/ });
  const social = await herald([
    "trigger",
    "--inbound",
    "text",
    "--from",
    "44",
    "--text",
    "b",
    "--channel",
    channel,
  ]);
  t.match(social, { code: 0, out: /received by 1300000000000401\n$/ });
  t.match(await herald("trigger --inbound nonsense --from 1"), { code: 1, err: /the sandbox answers 400: / });
  t.match(await createCommandRunner(t, {})("trigger --inbound text --from 1"), {
    code: 1,
    err: /there is no sandbox: run npm start/,
  });
});
