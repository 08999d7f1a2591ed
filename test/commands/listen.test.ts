import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import t from "tap";
import { freePort } from "../../src/local/server-process.ts";
import { answerWith, startClientBackend } from "../fixtures/events/client-backend.ts";
import { makeEvents } from "../fixtures/events/events.ts";
import { startStreamServer } from "../fixtures/events/stream-server.ts";
import { startApi } from "../fixtures/http/api.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { startListen } from "../fixtures/processes/listen.ts";
import { makeTempFolder } from "../fixtures/servers/folders.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const KEY = "svc_test_01jc8m4t7v2x5k9w3r6y1b0nqd_secret";
const REFUSAL = (error: string) => ({ error, message: `because of ${error}`, request_id: "req_1" });

t.test("an event is forwarded like a delivery, with its bytes unchanged", async (t) => {
  const [stream, handler] = [await startStreamServer(t), await startClientBackend(t)];
  const args = ["--forward-to", `${handler.url}/hooks/?tenant=1`, "--header", "X-Tunnel: laptop"];
  const listen = startListen(t, { url: stream.url, key: KEY, args: [...args, "--header", "X-Other: a: b"] });
  await listen.connected();
  const payload =
    '{"id": "evt_1", "channel_id": "ch_1",\n "data": {"n": 12345678901234567890, "t": "ü — é"}}';
  stream.send({ event_id: "evt_1", payload });
  stream.send({ event_id: "evt_2", type: "webhook.test", key: null, path: null });
  await until("both are printed", () => listen.lines().length === 2);
  const [event, test] = handler.received;
  t.equal(event?.path, "/hooks/chat/receiveMessage?tenant=1");
  t.equal(test?.path, "/hooks?tenant=1", "an event without a path goes to the address itself");
  t.equal(event?.raw, payload);
  t.match(event?.headers, {
    "content-type": "application/json",
    "user-agent": /^Herald\//,
    "webhook-id": "evt_1",
    "x-webhook-event": "message.received",
    "x-webhook-attempt": "1",
    "x-tunnel": "laptop",
    "x-other": "a: b",
  });
  const [, secret = ""] = /signed with (whsec_\S+)/.exec(listen.stderr()) ?? [];
  t.equal(event?.headers["x-webhook-token"], secret);
  t.ok(new Webhook(secret).verify(event?.raw ?? "", event?.headers as Record<string, string>));
  t.match(
    listen.lines()[0],
    /^\d\d:\d\d:\d\d {2}message\.received {9}evt_1 {2}200 {2}\/chat\/receiveMessage {2}\d+ ms$/,
  );
  t.match(stream.connections[0], { path: "/api/events/stream", headers: { "x-svc-api-key": KEY } });
  t.match(listen.stderr(), "Deliveries to your webhook_url go on as before");
  t.notMatch(listen.stderr() + listen.lines().join(), KEY);
  t.equal(await listen.stop(), 0);
});

t.test("--print-secret prints the secret of the key and nothing else", async (t) => {
  const herald = (key: string) =>
    createCommandRunner(t, { HERALD_URL: "http://localhost:1", HERALD_API_KEY: key });
  const { code, out, err } = await herald(KEY)("listen --print-secret");
  t.same([code, err], [0, ""]);
  t.match(out, /^whsec_[A-Za-z0-9+/]{43}=\n$/);
  t.equal((await herald(KEY)("listen --print-secret --json")).json.secret, out.trim(), "the same each time");
  t.not((await herald(`${KEY}2`)("listen --print-secret")).out, out, "another key has another secret");
  const folder = makeTempFolder(t);
  writeFileSync(join(folder, "env"), `HERALD_URL='http://localhost:1'\nHERALD_API_KEY='${KEY}'\n`);
  const stored = createCommandRunner(t, { DATABASE_URL: "postgres://elsewhere" });
  t.equal((await stored(`listen --print-secret --folder ${folder}`)).out, out, "the key of npm start");
});

t.test("without --forward-to events are shown; --json prints one object a line", async (t) => {
  const stream = await startStreamServer(t);
  const channel = "ch_01jc8m4t7v2x5k9w3r6y1b0nqd";
  const args = [
    "--json",
    "--types",
    "message.status, lead.created",
    "--keys",
    "chatapp",
    "--channel",
    channel,
  ];
  const listen = startListen(t, {
    url: `${stream.url}/`,
    args: [...args, "--since", "2026-11-01T09:30:00Z"],
  });
  await listen.connected();
  stream.send({ event_id: "evt_1", payload: '{"id":"evt_1",\n"n":12345678901234567890}' });
  await until("it is printed", () => listen.lines().length === 1);
  const [line = ""] = listen.lines();
  t.match(line, '"payload":{"id":"evt_1", "n":12345678901234567890}}');
  t.match(JSON.parse(line), { event_id: "evt_1", type: "message.received", status: null, replay: false });
  const { searchParams } = new URL(stream.connections[0]?.path ?? "", stream.url);
  t.same(Object.fromEntries(searchParams), {
    types: "lead.created,message.status",
    keys: "chatapp",
    channel_id: channel,
    since: "2026-11-01T09:30:00Z",
  });
});

t.test("after a broken or ended connection the stream goes on at its last cursor", async (t) => {
  const stream = await startStreamServer(t);
  const listen = startListen(t, { url: stream.url });
  await listen.connected();
  stream.send({ event_id: "evt_1" });
  await until("the first event is printed", () => listen.lines().length === 1);
  stream.refuse(
    { status: 503, headers: { "retry-after": "0" }, body: REFUSAL("overloaded") },
    { status: 429, headers: { "retry-after": "0" }, body: REFUSAL("rate_limited") },
  );
  stream.cut();
  stream.send({ event_id: "evt_2" });
  await until("the second event is printed", () => listen.lines().length === 2);
  t.same(
    stream.connections.map(({ headers }) => headers["last-event-id"]),
    [undefined, "c1", "c1", "c1"],
  );
  stream.end();
  await until("it has connected again", () => stream.connections.length === 5 && stream.isOpen());
  stream.sendAgain({ event_id: "evt_2" });
  stream.sendAgain({ event_id: "evt_1", replay: true });
  stream.ping();
  stream.send({ event_id: "evt_3" });
  await until("the third event is printed", () => listen.lines().some((line) => line.includes("evt_3")));
  t.same(
    listen.lines().map((line) => [/evt_\d/.exec(line)?.[0], line.includes("(replay)")]),
    [
      ["evt_1", false],
      ["evt_2", false],
      ["evt_1", true],
      ["evt_3", false],
    ],
    "a repeat is dropped, a replay is not",
  );
});

t.test("a refusal that stays ends the command with code 1 and says why", async (t) => {
  const stream = await startStreamServer(t);
  const refused = async (status: number, error: string, args: string[] = []) => {
    stream.refuse({ status, body: REFUSAL(error) });
    const listen = startListen(t, { url: stream.url, args });
    t.equal(await listen.ended, 1);
    return listen.stderr();
  };
  t.match(
    await refused(401, "unauthorized"),
    /401 unauthorized: because of unauthorized\nCheck HERALD_API_KEY/,
  );
  t.match(await refused(403, "insufficient_scope"), /403 insufficient_scope: because/);
  t.match(await refused(400, "validation_failed", ["--types", "nonsense"]), /400 validation_failed: because/);
  t.match(await refused(404, "not_found"), /404 not_found/);

  stream.refuse({ status: 302, headers: { location: "http://elsewhere.example/path?token=1" } });
  const moved = startListen(t, { url: stream.url });
  t.equal(await moved.ended, 1);
  t.match(moved.stderr(), "redirects to http://elsewhere.example: set HERALD_URL");
  t.notMatch(moved.stderr(), "token=1");
  stream.refuse({ status: 200, headers: { "content-type": "text/html" } });
  const other = startListen(t, { url: stream.url });
  t.equal(await other.ended, 1);
  t.match(other.stderr(), "answers with text/html instead of an event stream");

  const expired = startListen(t, { url: stream.url });
  await expired.connected();
  stream.refuse({ status: 400, body: REFUSAL("validation_failed") });
  stream.cut();
  t.equal(await expired.ended, 1);
  t.match(expired.stderr(), /because of validation_failed\nThe position [^\n]+ start without --resume/);
});

t.test("a handler that cannot be reached keeps its events waiting; any answer of it counts", async (t) => {
  const [stream, handler] = [await startStreamServer(t), await startClientBackend(t)];
  const port = await freePort();
  const stateFolder = makeTempFolder(t);
  const waiting = startListen(t, { url: stream.url, args: ["--forward-to", String(port)], stateFolder });
  await waiting.connected();
  stream.send({ event_id: "evt_1" });
  await until("it is reported", () => waiting.stderr().includes("cannot be reached (connection refused)"));
  t.same(waiting.lines(), []);
  t.equal(await waiting.stop(), 0);
  t.match(storedIn(stateFolder), { cursor: "c0" }, "the event is not handled");

  handler.answer = answerWith(500, {}, "\u001b[2Jno such \u0007channel\nstack");
  const listen = startListen(t, { url: stream.url, args: ["--forward-to", handler.url, "--resume"] });
  await listen.connected();
  t.match(listen.stderr(), "There is no earlier run to resume", "another address is another run");
  stream.send({ event_id: "evt_2" });
  await until("the failure is printed", () => listen.lines().length === 1);
  handler.answer = answerWith(302, { location: `${handler.url}/elsewhere` });
  stream.send({ event_id: "evt_3" });
  await until("the redirect is printed", () => listen.lines().length === 2);
  handler.answer = (response) => void response.destroy();
  stream.send({ event_id: "evt_4" });
  await until("the broken connection is printed", () => listen.lines().length === 3);
  t.match(listen.lines()[0], /500 .* ms {2}\[2Jno such channel$/);
  t.match(listen.lines()[1], /evt_3 {2}302 /);
  t.match(listen.lines()[2], /evt_4 {2}failed .*connection closed without an answer$/);
  t.same(
    handler.received.map(({ id }) => id),
    ["evt_2", "evt_3", "evt_4"],
    "no redirect is followed and nothing is repeated",
  );
});

t.test("--resume continues after the last event that was handled", async (t) => {
  const [stream, handler] = [await startStreamServer(t), await startClientBackend(t)];
  const stateFolder = makeTempFolder(t);
  const start = (...args: string[]) =>
    startListen(t, {
      url: stream.url,
      key: KEY,
      args: ["--forward-to", handler.url, ...args],
      stateFolder,
    });
  const first = start();
  await first.connected();
  stream.send({ event_id: "evt_1" });
  await until("the first event is printed", () => first.lines().length === 1);
  handler.answer = (response, { id }) => void (id === "evt_2" || response.end());
  stream.send({ event_id: "evt_2" });
  stream.send({ event_id: "evt_3", payload: '{"id":"evt_3","channel_id":"ch_2"}' });
  await until("the third event overtakes the second", () => first.lines().length === 2);
  await until("the second is being forwarded", () => handler.openRequests() === 1);
  t.equal(await first.stop(), 0, "it ends while an event is being forwarded");
  t.match(storedIn(stateFolder), { cursor: "c1" }, "the second event is not handled");

  handler.answer = answerWith(200);
  const second = start("--resume");
  await until("the rest is printed", () => second.lines().length === 2);
  t.equal(stream.connections.at(-1)?.headers["last-event-id"], "c1");
  t.match(second.stderr(), "where the last run stopped");
  t.equal(await second.stop(), 0);
  t.match(storedIn(stateFolder), { cursor: "c3" });
  const [file = ""] = stateFiles(stateFolder);
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.notMatch(file + readFileSync(file, "utf8"), KEY);
});

t.test("on a terminal r forwards the last event again, d shows it and q quits", async (t) => {
  const [stream, handler] = [await startStreamServer(t), await startClientBackend(t)];
  const listen = startListen(t, {
    url: stream.url,
    args: ["--forward-to", handler.url],
    hasTerminal: true,
  });
  await listen.connected();
  listen.press("r");
  t.match(listen.stderr(), "There is no event yet");
  stream.send({ event_id: "evt_1", payload: '{"id":"evt_1","n":12345678901234567890}' });
  await until("the event is printed", () => listen.lines().length === 1);
  listen.press("d");
  t.match(listen.stderr(), '{\n  "id": "evt_1",\n  "n": 12345678901234567890\n}\n');
  listen.press("r");
  await until("it is forwarded again", () => listen.lines().length === 2);
  t.match(listen.lines()[1], /evt_1 {2}200 .*\(again\)$/);
  t.same(
    handler.received.map(({ headers }) => headers["x-webhook-attempt"]),
    ["1", "2"],
  );
  listen.press("q");
  t.equal(await listen.ended, 0);

  const shown = startListen(t, { url: stream.url, hasTerminal: true });
  await shown.connected();
  shown.press("r");
  t.match(shown.stderr(), "r needs --forward-to");
});

t.test("wrong options and missing settings are refused before anything is called", async (t) => {
  const settings = { HERALD_URL: "http://localhost:1", HERALD_API_KEY: KEY };
  const herald = createCommandRunner(t, settings);
  const wrong: [string[], RegExp][] = [
    [["--forward-to", "ftp://localhost"], /--forward-to must be an address/],
    [["--forward-to", "http://"], /--forward-to must be an address/],
    [["--header", "no colon"], /--header must be a name and a value/],
    [["--header", "X: a\nb"], /--header must be a name and a value/],
    [["--concurrency", "0"], /--concurrency must be a number from 1 to 100/],
    [["--since", "10x"], /--since must be a duration/],
    [["--since", "yesterday"], /--since must be an RFC 3339 time/],
    [["--channel", "ch_1"], /--channel must be a complete id/],
    [["--types", "a,,b"], /--types must be words/],
  ];
  for (const [args, message] of wrong) {
    const { code, err } = await herald(["listen", ...args]);
    t.equal(code, 2, args.join(" "));
    t.match(err, message);
  }
  const without = async (env: Record<string, string>) => {
    const { code, err } = await createCommandRunner(t, env)("listen");
    t.equal(code, 1);
    return err;
  };
  t.match(await without({}), /HERALD_URL and HERALD_API_KEY are not set/);
  t.match(await without({ HERALD_URL: "http://localhost:1" }), /HERALD_API_KEY is not set: both or neither/);
  t.match(await without({ HERALD_API_KEY: KEY }), /HERALD_URL is not set: both or neither/);
  const malformed = await without({ HERALD_URL: "herald.example.com", HERALD_API_KEY: KEY });
  t.match(malformed, /HERALD_URL must be the address/);
  t.notMatch(malformed, KEY);
  const withPassword = await without({ HERALD_URL: "http://ana:hidden@localhost:1", HERALD_API_KEY: KEY });
  t.match(withPassword, /HERALD_URL must be the address/);
  t.notMatch(withPassword, "hidden");
});

t.test("listen, trigger and a handler work together with the API", async (t) => {
  const [api, handler] = [await startApi(t), await startClientBackend(t)];
  const tenant = await makeTenant(api);
  const { text: key, headers } = await tenant.createKey("webhooks:manage");
  const args = ["--forward-to", handler.url, "--types", "message.received"];
  const listen = startListen(t, { url: api.address, key, args });
  await listen.connected();
  await makeEvents(api, await makeTenant(api), {});
  const herald = createCommandRunner(t, { HERALD_URL: api.address, HERALD_API_KEY: key });
  await herald("trigger message.status --no-wait");
  const { json } = await herald("trigger message.received --set data.from.id=5511988887777 --no-wait --json");
  const id = json.data[0].event_id as string;
  await until("it is forwarded", () => listen.lines().length > 0);
  const [event] = handler.received;
  t.match(event, { id, path: "/chat/receiveMessage" });
  t.match(JSON.parse(event?.raw ?? ""), { id, test: true, data: { from: { id: "5511988887777" } } });
  const secret = event?.headers["x-webhook-token"] as string;
  t.ok(new Webhook(secret).verify(event?.raw ?? "", event?.headers as Record<string, string>));
  await api.call("POST", `/api/webhooks/events/${id}/retry`, { headers });
  await until("it is forwarded again", () => listen.lines().length > 1);
  t.match(listen.lines()[1], new RegExp(`${id} .*\\(replay\\)$`));
  t.equal(handler.received.length, 2, "neither another type nor another client's event comes");
  t.match(await herald("trigger no.such.type"), {
    code: 1,
    err: /400 validation_failed: .*message\.received/,
  });
  t.equal(await listen.stop(), 0);

  const refused = startListen(t, { url: api.address, key, args: ["--types", "no.such.type"] });
  t.equal(await refused.ended, 1);
  t.match(refused.stderr(), /400 validation_failed: types must be some of message\.received/);
});

const stateFiles = (folder: string) => {
  const files = join(folder, "herald/listen");
  return readdirSync(files).map((name) => join(files, name));
};

const storedIn = (folder: string) => JSON.parse(readFileSync(stateFiles(folder)[0] as string, "utf8"));
