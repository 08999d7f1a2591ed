import { writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import t, { type Test } from "tap";
import { newId } from "../../src/runtime/ids.ts";
import { startBackend } from "../fixtures/events/backends.ts";
import { type Api, startApi } from "../fixtures/http/api.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { startProcess } from "../fixtures/processes/processes.ts";
import { makeTempFolder } from "../fixtures/servers/folders.ts";
import { makeChannel } from "../fixtures/tenants/channels.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

/** A client with a channel and the command line with its key. */
async function startClient(t: Test, api?: Api) {
  const running = api ?? (await startApi(t));
  const tenant = await makeTenant(running);
  const key = (await tenant.createKey("messages:send")).text;
  const channel = await makeChannel(running, tenant);
  const settings = { HERALD_URL: running.address, HERALD_API_KEY: key };
  const folder = makeTempFolder(t);
  const write = (content: string, name = "people.csv") => {
    const file = join(folder, name);
    writeFileSync(file, content);
    return file;
  };
  const args = (file: string, ...more: string[]) =>
    ["batch", "send", "--file", file, "--channel", channel, "--template", "order_update", ...more] as const;
  const count = async (table: "messages" | "batches") =>
    (
      await running.db.query<{ count: number }>(
        `select count(*)::integer as count from ${table} where client_id = $1`,
        [tenant.id],
      )
    )[0]?.count;
  return {
    api: running,
    tenant,
    key,
    settings,
    channel,
    write,
    args,
    count,
    herald: createCommandRunner(t, settings),
  };
}

const phone = (number: number) => `55119${String(10_000_000 + number)}`;
const manyRows = (count: number) =>
  [
    "to,external_ref,name",
    ...Array.from({ length: count }, (_, n) => `${phone(n)},order-${n},Ana ${n}`),
  ].join("\n");

t.test("a file of 2,500 rows is sent in three batches with one name, once", async (t) => {
  const { herald, write, args, count, api, tenant } = await startClient(t);
  const file = write(manyRows(2_500));
  const more = [
    "--language",
    "pt_BR",
    "--rate",
    "20",
    "--send-at",
    new Date(Date.now() + 3_600_000).toISOString(),
  ];
  const first = await herald([...args(file, ...more), "--json"]);
  t.equal(first.code, 0, first.err);
  t.match(first.json, { name: "people.csv", accepted: 2_500, invalid: [], data: { length: 3 } });
  t.match(first.err, /^part 1 of 3: bat_\w+\npart 2 of 3: bat_\w+\npart 3 of 3: bat_\w+\n$/);
  const ids = first.json.data.map(({ batch_id }: { batch_id: string }) => batch_id);

  const again = await herald([...args(file, ...more), "--json"]);
  t.same(again.json, first.json, "the same batches");
  t.match(again.err, /part 3 of 3: bat_\w+, accepted by an earlier run/);
  t.same([await count("messages"), await count("batches")], [2_500, 3]);

  const batches = await api.db.query(
    `select
      name, status, rate_per_second, template_language, content,
      (select count(*)::integer from messages m where m.batch_id = b.id) as accepted
    from batches b
    where client_id = $1
    order by id`,
    [tenant.id],
  );
  const common = { name: "people.csv", status: "scheduled", rate_per_second: 20, template_language: "pt_BR" };
  t.match(
    batches,
    [1_000, 1_000, 500].map((accepted) => ({ ...common, accepted })),
  );
  const [last] = await api.db.query(
    "select recipient, external_ref, content from messages where batch_id = $1 order by id desc limit 1",
    [ids[2]],
  );
  t.match(last, { recipient: phone(2_499), external_ref: "order-2499", content: /"text":"Ana 2499"/ });

  const faster = await herald(args(file, "--language", "pt_BR", "--rate", "21"));
  t.match(faster, { code: 1, err: /part 1 of 3 \(lines 2 to 1001\) .* 422 idempotency_key_reused/ });
  t.match(faster.err, /with another --send-at or --rate/);
  t.equal(await count("messages"), 2_500);
  t.match(await herald([...args(file, "--name", "another"), "--json"]), {
    code: 0,
    json: { name: "another" },
  });
  t.equal(await count("messages"), 5_000, "another name sends the file again");
});

t.test("after a crash between two parts, the same command sends the others", async (t) => {
  const { api, settings, args, write, count, herald } = await startClient(t);
  let requests = 0;
  /** Passes requests on; the second is accepted by the API, but the command never gets the answer. */
  const proxy = await startBackend(t, async (request: IncomingMessage, response: ServerResponse) => {
    requests += 1;
    const isLost = requests === 2;
    const answer = await fetch(api.address + request.url, {
      method: "POST",
      headers: {
        "x-svc-api-key": String(request.headers["x-svc-api-key"]),
        "idempotency-key": String(request.headers["idempotency-key"]),
      },
      body: new Uint8Array(await buffer(request)),
    });
    if (!isLost) response.writeHead(answer.status).end(await answer.text());
  });
  const file = write(manyRows(2_500));
  const killed = startProcess(t, "herald", { ...settings, HERALD_URL: proxy.url }, { args: args(file) });
  await until("two parts are accepted", async () => (await count("messages")) === 2_000);
  t.equal(await killed.stop("SIGKILL"), "SIGKILL");
  t.match(killed.stderr(), /part 1 of 3: bat_/);

  const { code, json, err } = await herald([...args(file), "--json"]);
  t.equal(code, 0, err);
  t.match(json, { accepted: 2_500, data: { length: 3 } });
  t.match(err, /part 2 of 3: bat_\w+, accepted by an earlier run\npart 3 of 3: bat_\w+\n/);
  t.same([await count("messages"), await count("batches")], [2_500, 3]);
});

t.test("invalid rows are shown first, and the others are sent when that is confirmed", async (t) => {
  const { herald, write, args, count } = await startClient(t);
  const file = write(
    `to,name\n,Ana\n${phone(1)},"Ana ""A"",\nSouza"\n+1,Bo\n${phone(2)},Cleo\n123,Too short\n`,
  );
  const stopped = await herald(args(file));
  t.equal(stopped.code, 1);
  t.match(
    stopped.err,
    /^line 2: to is empty\nline 5: to must be .* no \+.*\nherald: .* has 2 invalid and 3 valid rows/,
  );
  t.match(stopped.err, /nothing was sent: correct the file, or send the others with --yes/);
  t.match(await herald(args(file), "no"), {
    code: 1,
    err: /Send the valid ones\? .*\nherald: nothing was sent\n/,
  });
  t.equal(await count("messages"), 0);

  const { code, json, err } = await herald([...args(file), "--json"], "yes");
  t.equal(code, 0, err);
  t.match(json, {
    accepted: 2,
    invalid: [{ line: 2 }, { line: 5 }, { line: 7, message: /^to must be a phone/ }],
  });
  t.match(err, /line 7: to must be a phone number/, "the row that the API has rejected");
  t.equal(await count("messages"), 2);
  const shown = await herald(args(file, "--yes"));
  t.match(shown, { code: 0, err: /has 2 invalid and 3 valid rows; the valid ones are sent/ });
  t.match(
    shown.out,
    /^batch_id +accepted\nbat_\w+ +2\naccepted as people\.csv: 2; rows that were not sent: 3\n$/,
  );
  t.equal(await count("messages"), 2);

  const none = write("to\n+1\n");
  t.match(await herald(args(none, "--yes")), { code: 1, err: /line 2: .*\nherald: .* has no valid rows/ });
  const rejected = write(`to\n${phone(1)}\n`.replace(phone(1), "123"));
  t.match(await herald(args(rejected)), {
    code: 1,
    err: /failed: .*400 .*\nline 2: to must be.*\nWithin a day/s,
  });
});

t.test("a refusal stops the command and names the part", async (t) => {
  const { herald, write, args, tenant, settings, api } = await startClient(t);
  const file = write("to\n5511988887777\n");
  const of = (channel: string) => ["batch", "send", "--file", file, "--channel", channel, "--template", "a"];
  const missing = await herald(of(newId("ch")));
  t.match(missing, {
    code: 1,
    err: /^herald: part 1 of 1 \(lines 2 to 2\) failed: the API answers 404/,
  });
  t.match(missing.err, /Within a day, the same command continues with this part/);
  const page = await makeChannel(api, tenant, { platform: "socialapp" });
  t.match(await herald(of(page)), { code: 1, err: /400 unsupported_message_type/ });
  t.match(await herald(args(file, "--rate", "100000")), { code: 1, err: /rate_per_second must be at most/ });
  t.match(await herald(args("/no/such/file.csv")), { code: 1, err: /cannot be read: ENOENT/ });
  const other = (await tenant.createKey("webhooks:manage")).text;
  const weak = createCommandRunner(t, { ...settings, HERALD_API_KEY: other });
  t.match(await weak(args(file)), { code: 1, err: /403 insufficient_scope/ });
  const wrong: [string[], RegExp][] = [
    [["--rate", "0"], /--rate must be a number from 1 on/],
    [["--send-at", "tomorrow"], /--send-at must be an RFC 3339 time/],
    [["--name", "n".repeat(121)], /--name must/],
  ];
  for (const [more, message] of wrong) t.match(await herald(args(file, ...more)), { code: 2, err: message });
  t.equal((await herald(["batch", "send", "--file", file])).code, 2, "the channel is required");
});

t.test("the command waits when the API asks for it, and repeats the part with its key", async (t) => {
  const { api, key, args, write, count } = await startClient(t);
  const keys: unknown[] = [];
  const refusals = [
    [429, "rate_limited"],
    [503, "overloaded"],
    [409, "idempotency_in_progress"],
  ] as const;
  const server = await startBackend(t, async (request, response) => {
    const body = new Uint8Array(await buffer(request));
    const idempotencyKey = String(request.headers["idempotency-key"]);
    const refusal = refusals[keys.push(idempotencyKey) - 1];
    if (refusal) {
      const [status, error] = refusal;
      response.writeHead(status, { "retry-after": "0" }).end(JSON.stringify({ error, message: "Later" }));
      return;
    }
    const headers = { "x-svc-api-key": key, "idempotency-key": idempotencyKey };
    const answer = await fetch(api.address + request.url, { method: "POST", headers, body });
    response.writeHead(answer.status).end(await answer.text());
  });
  const herald = createCommandRunner(t, { HERALD_URL: server.url, HERALD_API_KEY: key });
  const { code, err } = await herald(args(write("to\n5511988887777\n")));
  t.equal(code, 0, err);
  t.match(
    err,
    /429 rate_limited: Later; the next attempt is in 0 s\n.*503 overloaded.*\n.*409 idempotency_in_p/,
  );
  t.same(new Set(keys).size, 1);
  t.equal(keys.length, 4);
  t.equal(await count("messages"), 1);
});
