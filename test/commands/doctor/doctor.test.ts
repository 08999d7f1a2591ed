import { randomUUID } from "node:crypto";
import type { Test } from "tap";
import t from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createSecretBox, sealedContext } from "../../../src/security/secret-box.ts";
import { startBackend } from "../../fixtures/events/backends.ts";
import { createCommandRunner } from "../../fixtures/processes/command-line.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { REFUSALS, startRefusingRedis } from "../../fixtures/servers/redis-refusals.ts";
import { cloneDatabase, connectRawClient } from "../../fixtures/servers/servers.ts";

interface Finding {
  check: string;
  status: string;
  message: string;
  fix?: string;
}

/** A server that answers in place of a platform. */
const startHttpServer = async (t: Test, body = "{}"): Promise<string> =>
  (await startBackend(t, (_, response) => response.writeHead(404).end(body))).url;

t.test("herald doctor", async (t) => {
  const platform = await startHttpServer(t, '{"status":"ready"}');
  const healthy = await testSettings(t, {
    PUBLIC_URL: platform,
    AD_PLATFORM_URL: platform,
    CHAT_PLATFORM_URL: platform,
    PHOTO_PLATFORM_URL: platform,
    SOCIAL_PLATFORM_URL: platform,
  });
  const workers = await connectRawClient(t, healthy.DATABASE_URL as string);
  await workers.query(
    "insert into workers (id, process, heartbeat_at) select p, p, now() + interval '1 hour' from unnest(array['dispatcher', 'scheduler']) p",
  );
  const examine = async (t: Test, settings: Record<string, string>) => {
    const { code, json, err } = await createCommandRunner(t, settings)(["doctor", "--json"]);
    t.equal(err, "");
    const findings = json.findings as Finding[];
    t.ok(
      findings.every(({ status, fix }) => (status === "ok") === (fix === undefined)),
      "every problem has a fix",
    );
    const wrong = findings.filter(({ status }) => status !== "ok");
    const isWorker = ({ check }: Finding) => check === "dispatcher" || check === "scheduler";
    return {
      code,
      healthy: json.healthy,
      findings,
      // A new database has no workers.
      wrong: wrong.filter((finding) => !isWorker(finding)),
      missing: wrong.filter(isWorker),
    };
  };

  t.test("reports no problem on a healthy installation", async (t) => {
    const { code, healthy: isHealthy, wrong, missing, findings } = await examine(t, healthy);
    t.same([...wrong, ...missing], []);
    t.equal(code, 0);
    t.equal(isHealthy, true);
    t.same(
      findings.map(({ check }) => check),
      [
        "settings",
        "postgres",
        "writes",
        "migrations",
        "secrets",
        "api_keys",
        "dispatcher",
        "scheduler",
        "queue",
        "queue_rows",
        "clock",
        "transactions",
        "redis",
        "web",
        "platforms",
      ],
    );
    const { out } = await createCommandRunner(t, healthy)(["doctor"]);
    t.match(out, /^ok {7}settings {6}all \d+ are valid\n[\s\S]*\nHerald can run\.\n$/);
  });

  t.test("fails without a dispatcher, and warns without a scheduler", async (t) => {
    const examineWithout = async (process: string) => {
      await workers.query(
        "update workers set heartbeat_at = now() - interval '11 seconds' where process = $1",
        [process],
      );
      const examined = await examine(t, healthy);
      await workers.query("update workers set heartbeat_at = now() + interval '1 hour'");
      return examined;
    };
    const finding = { message: /^none is running: /, fix: /start one/ };
    t.match(await examineWithout("scheduler"), {
      code: 0,
      missing: [{ ...finding, check: "scheduler", status: "warning" }],
    });
    t.match(await examineWithout("dispatcher"), {
      code: 1,
      missing: [{ ...finding, check: "dispatcher", status: "failed" }],
    });
  });

  t.test("reports an invalid setting with its fix, and runs the other checks", async (t) => {
    const { code, wrong, findings } = await examine(t, {
      ...healthy,
      ENCRYPTION_KEYS: "k1:dG9vIHNob3J0",
      PORT: "high",
    });
    t.equal(code, 1);
    t.match(wrong, [
      { check: "settings", status: "failed", message: "PORT must be a whole number from 0 to 65535" },
      {
        check: "settings",
        status: "failed",
        message: /^ENCRYPTION_KEYS must be/,
        fix: /openssl rand -base64 32/,
      },
      { check: "secrets", status: "failed" },
    ]);
    t.ok(findings.some(({ check, status }) => check === "redis" && status === "ok"));
    t.notMatch(JSON.stringify(findings), "dG9vIHNob3J0");
  });

  t.test("reports every missing setting", async (t) => {
    const { code, out } = await createCommandRunner(t, {})(["doctor"]);
    t.equal(code, 1);
    for (const name of ["DATABASE_URL", "REDIS_URL", "ENCRYPTION_KEYS", "JWT_SECRET"])
      t.match(out, new RegExp(`^FAILED +settings +${name} is required.*\\n +-> `, "m"));
    t.match(out, /Fix the failed checks first\.\n$/);
  });

  t.test("reports unreachable servers without their passwords", async (t) => {
    const { code, wrong } = await examine(t, {
      ...healthy,
      DATABASE_URL: "postgres://u:pg-secret@127.0.0.1:1/x",
      REDIS_URL: "redis://:redis-secret@127.0.0.1:1",
    });
    t.equal(code, 1);
    t.match(wrong, [
      { check: "postgres", message: /127.0.0.1:1 cannot be used: .*ECONNREFUSED/, fix: /DATABASE_URL/ },
      { check: "redis", message: /127.0.0.1:1 cannot be used: .*ECONNREFUSED/, fix: /REDIS_URL/ },
    ]);
    t.notMatch(JSON.stringify(wrong), /pg-secret|redis-secret/);
  });

  t.test("reports a Postgres that answers and refuses writes", async (t) => {
    const DATABASE_URL = await cloneDatabase(t);
    const raw = await connectRawClient(t, DATABASE_URL);
    const name = new URL(DATABASE_URL).pathname.slice(1);
    await raw.query(`alter database "${name}" set default_transaction_read_only = on`);
    const { code, wrong } = await examine(t, { ...healthy, DATABASE_URL });
    t.equal(code, 1);
    t.match(wrong, [
      {
        check: "writes",
        status: "failed",
        message: /^Postgres refuses them: .*read-only transaction/,
        fix: /disk, or use the primary/,
      },
    ]);
    const { out } = await createCommandRunner(t, { ...healthy, DATABASE_URL })("status");
    t.match(out, /^postgres +REFUSES WRITES: .*read-only transaction$/m);
  });

  t.test("a role that may not create temporary tables is no problem", async (t) => {
    const DATABASE_URL = await cloneDatabase(t);
    const raw = await connectRawClient(t, DATABASE_URL);
    const url = new URL(DATABASE_URL);
    const role = `limited_${randomUUID().replaceAll("-", "")}`;
    await raw.query(`create role ${role} login password 'x'`);
    t.teardown(() => raw.query(`drop owned by ${role}; drop role ${role}`));
    await raw.query(`revoke temporary on database "${url.pathname.slice(1)}" from public`);
    await raw.query(
      `grant usage on schema public to ${role}; grant select on all tables in schema public to ${role}`,
    );
    [url.username, url.password] = [role, "x"];
    const { findings } = await examine(t, { ...healthy, DATABASE_URL: url.href });
    t.match(
      findings.find(({ check }) => check === "writes"),
      { status: "ok" },
    );
  });

  t.test("warns about web that does not answer, or is something else", async (t) => {
    const other = await startHttpServer(t, "<html>");
    const broken = await startHttpServer(t, '{"status":"unavailable"}');
    const expected: [string, RegExp, RegExp][] = [
      ["http://127.0.0.1:1", /^no answer from http:\/\/127.0.0.1:1\/readyz: /, /start web/],
      [other, /answers 404, not as Herald does/, /correct PUBLIC_URL/],
      [broken, /^unavailable at .*: it cannot use Postgres/, /http\.failed/],
    ];
    for (const [PUBLIC_URL, message, fix] of expected) {
      const { code, wrong } = await examine(t, { ...healthy, PUBLIC_URL });
      t.equal(code, 0);
      t.match(wrong, [{ check: "web", status: "warning", message, fix }]);
      t.equal(wrong.length, 1);
    }
    const { out } = await createCommandRunner(t, { ...healthy, PUBLIC_URL: other })("doctor");
    t.match(out, /\nHerald can run\. Warnings: 1\.\n$/);
  });

  t.test("reports a Redis that refuses writes", async (t) => {
    const { url, admin } = await startRefusingRedis(t);
    await REFUSALS["a read-only replica"]?.begin(admin);
    const { code, wrong } = await examine(t, { ...healthy, REDIS_URL: url });
    t.equal(code, 1);
    t.match(wrong, [
      { check: "redis", status: "failed", message: /refuses writes: READONLY/, fix: /use the primary/ },
    ]);
  });

  t.test("distinguishes a wrong password from an unreachable server", async (t) => {
    const raw = await connectRawClient(t, healthy.DATABASE_URL as string);
    await raw.query("create role doctor_test login password 'right'");
    t.teardown(() => raw.query("drop role doctor_test"));
    const url = new URL(healthy.DATABASE_URL as string);
    url.username = "doctor_test";
    url.password = "wrong-one";
    const { wrong } = await examine(t, { ...healthy, DATABASE_URL: url.href });
    t.match(wrong, [{ check: "postgres", status: "failed", message: /password authentication failed/ }]);
    t.notMatch(JSON.stringify(wrong), "wrong-one");
  });

  t.test("reports pending migrations", async (t) => {
    const settings = { ...healthy, DATABASE_URL: await cloneDatabase(t, "template0") };
    const { code, wrong } = await examine(t, settings);
    t.equal(code, 1);
    t.match(wrong, [{ check: "migrations", message: /001_tenants\.sql/, fix: "run herald migrate" }]);
    t.equal((await createCommandRunner(t, settings)(["migrate"])).code, 0);
    t.same((await examine(t, settings)).wrong, []);
    t.same((await createCommandRunner(t, settings)(["migrate", "--json"])).json, { applied: [] });
    const elsewhere = {
      ...settings,
      DATABASE_URL: await cloneDatabase(t, "template0"),
      DATABASE_DIRECT_URL: settings.DATABASE_URL,
    };
    const mistaken = await examine(t, elsewhere);
    t.match(mistaken.wrong, [{ check: "migrations", fix: /DATABASE_DIRECT_URL points to another database/ }]);
  });

  t.test("reports an applied migration that differs from its file", async (t) => {
    const settings: Record<string, string> = { ...healthy, DATABASE_URL: await cloneDatabase(t) };
    const raw = await connectRawClient(t, settings.DATABASE_URL as string);
    await raw.query("update migrations set hash = 'another' where id = 2");
    const { code, wrong } = await examine(t, settings);
    t.equal(code, 1);
    t.match(wrong, [
      {
        check: "migrations",
        status: "failed",
        message: "changed after they were applied: 002_processes.sql",
        fix: /restore these files .* new file in sql\//,
      },
    ]);
    t.match(await createCommandRunner(t, settings)(["migrate"]), { code: 1, err: /Hashes don't match/ });
  });

  t.test("warns about unreachable platforms, and fails in production", async (t) => {
    const { code, wrong } = await examine(t, { ...healthy, CHAT_PLATFORM_URL: "http://127.0.0.1:1/v1" });
    t.equal(code, 0);
    t.match(wrong, [{ check: "platforms", status: "warning", fix: /correct CHAT_PLATFORM_URL,/ }]);
    const production = await examine(t, {
      ...healthy,
      NODE_ENV: "production",
      CHAT_PLATFORM_URL: "https://127.0.0.1:1/v1",
    });
    t.ok(production.wrong.some(({ check, status }) => check === "platforms" && status === "failed"));
  });

  t.test("checks the identity provider's keys", async (t) => {
    const provider = { JWT_ISSUER: "i", JWT_AUDIENCE: "a" };
    const good = { ...healthy, ...provider, JWT_JWKS_URL: await startHttpServer(t, '{"keys":[]}') };
    t.same((await examine(t, good)).wrong, []);
    const bad = { ...healthy, ...provider, JWT_JWKS_URL: await startHttpServer(t, "<html>") };
    t.match((await examine(t, bad)).wrong, [
      { check: "identity", status: "failed", fix: "correct JWT_JWKS_URL" },
    ]);
  });

  t.test("reports secrets encrypted with an older key or a missing key", async (t) => {
    const settings: Record<string, string> = { ...healthy, DATABASE_URL: await cloneDatabase(t) };
    const raw = await connectRawClient(t, settings.DATABASE_URL as string);
    await raw.query("create table vaults (id text primary key, token_sealed text)");
    const box = createSecretBox(readConfig(settings).ENCRYPTION_KEYS);
    const sealed = box.seal("x", sealedContext({ table: "vaults", column: "token_sealed", id: "v" }));
    await raw.query("insert into vaults values ('v', $1)", [sealed]);
    t.same((await examine(t, settings)).wrong, []);
    const other = `k9:${Buffer.alloc(32, 1).toString("base64")}`;
    const rotated = await examine(t, {
      ...settings,
      ENCRYPTION_KEYS: `${other},${settings.ENCRYPTION_KEYS}`,
    });
    t.match(rotated.wrong, [{ check: "secrets", status: "warning", fix: "run herald secrets rotate" }]);
    const lost = await examine(t, { ...settings, ENCRYPTION_KEYS: other });
    t.match(lost.wrong, [
      { check: "secrets", status: "failed", message: /with the key "k1", which ENCRYPTION_KEYS lacks/ },
    ]);
    const impostor = await examine(t, { ...settings, ENCRYPTION_KEYS: other.replace("k9", "k1") });
    t.match(impostor.wrong, [
      { check: "secrets", status: "failed", message: /lacks or has with another value/ },
    ]);
  });
});
