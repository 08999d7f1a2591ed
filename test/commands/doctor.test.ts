import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { readConfig } from "../../src/runtime/config/config.ts";
import { createSecretBox, sealedContext } from "../../src/security/secret-box.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { cloneDatabase, connectRawClient } from "../fixtures/servers/servers.ts";

interface Finding {
  check: string;
  status: string;
  message: string;
  mend?: string;
}

/** Something that answers where a platform is expected. */
async function startHttpServer(t: Test, body = "{}"): Promise<string> {
  const server = createServer((_, response) => response.writeHead(404).end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => new Promise((resolve) => server.close(resolve)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test("herald doctor", async (t) => {
  const platform = await startHttpServer(t);
  const healthy = await testSettings(t, {
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
      findings.every(({ status, mend }) => (status === "ok") === (mend === undefined)),
      "says how to mend what is wrong",
    );
    const wrong = findings.filter(({ status }) => status !== "ok");
    const isWorker = ({ check }: Finding) => check === "dispatcher" || check === "scheduler";
    return {
      code,
      healthy: json.healthy,
      findings,
      // A database that was just made has nobody at work.
      wrong: wrong.filter((finding) => !isWorker(finding)),
      missing: wrong.filter(isWorker),
    };
  };

  t.test("finds nothing wrong where nothing is", async (t) => {
    const { code, healthy: isHealthy, wrong, missing, findings } = await examine(t, healthy);
    t.same([...wrong, ...missing], []);
    t.equal(code, 0);
    t.equal(isHealthy, true);
    t.same(
      findings.map(({ check }) => check),
      [
        "settings",
        "postgres",
        "migrations",
        "secrets",
        "dispatcher",
        "scheduler",
        "clock",
        "redis",
        "platforms",
      ],
    );
    const { out } = await createCommandRunner(t, healthy)(["doctor"]);
    t.match(out, /^ok {7}settings {4}all \d+ are right\n[\s\S]*\nHerald can run\.\n$/);
  });

  t.test("says who is not at work, which may be as it should", async (t) => {
    const silent =
      "update workers set heartbeat_at = now() - interval '11 seconds' where process = 'scheduler'";
    await workers.query(silent);
    const { code, missing } = await examine(t, healthy);
    await workers.query("update workers set heartbeat_at = now() + interval '1 hour'");
    t.equal(code, 0);
    t.match(missing, [
      { check: "scheduler", status: "warning", message: /^none is at work/, mend: /start one/ },
    ]);
  });

  t.test("names a broken setting and how to mend it, and looks at the rest all the same", async (t) => {
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
        mend: /openssl rand -base64 32/,
      },
      { check: "secrets", status: "failed" },
    ]);
    t.ok(findings.some(({ check, status }) => check === "redis" && status === "ok"));
    t.notMatch(JSON.stringify(findings), "dG9vIHNob3J0");
  });

  t.test("names everything that is missing where nothing is set", async (t) => {
    const { code, out } = await createCommandRunner(t, {})(["doctor"]);
    t.equal(code, 1);
    for (const name of ["DATABASE_URL", "REDIS_URL", "ENCRYPTION_KEYS", "JWT_SECRET"])
      t.match(out, new RegExp(`^FAILED +settings +${name} is required.*\\n +-> `, "m"));
    t.match(out, /Something is to be mended first\.\n$/);
  });

  t.test("tells servers that do not answer, without their passwords", async (t) => {
    const { code, wrong } = await examine(t, {
      ...healthy,
      DATABASE_URL: "postgres://u:pg-secret@127.0.0.1:1/x",
      REDIS_URL: "redis://:redis-secret@127.0.0.1:1",
    });
    t.equal(code, 1);
    t.match(wrong, [
      { check: "postgres", message: /127.0.0.1:1 cannot be used: .*ECONNREFUSED/, mend: /DATABASE_URL/ },
      { check: "redis", message: /127.0.0.1:1 cannot be used: .*ECONNREFUSED/, mend: /REDIS_URL/ },
    ]);
    t.notMatch(JSON.stringify(wrong), /pg-secret|redis-secret/);
  });

  t.test("tells a wrong password from a server that is away", async (t) => {
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

  t.test("names the migrations that are not applied", async (t) => {
    const settings = { ...healthy, DATABASE_URL: await cloneDatabase(t, "template0") };
    const { code, wrong } = await examine(t, settings);
    t.equal(code, 1);
    t.match(wrong, [{ check: "migrations", message: /001_clients\.sql/, mend: "run herald migrate" }]);
    t.equal((await createCommandRunner(t, settings)(["migrate"])).code, 0);
    t.same((await examine(t, settings)).wrong, []);
    t.same((await createCommandRunner(t, settings)(["migrate", "--json"])).json, { applied: [] });
    const elsewhere = {
      ...settings,
      DATABASE_URL: await cloneDatabase(t, "template0"),
      DATABASE_DIRECT_URL: settings.DATABASE_URL,
    };
    const mistaken = await examine(t, elsewhere);
    t.match(mistaken.wrong, [{ check: "migrations", mend: /DATABASE_DIRECT_URL leads to another database/ }]);
  });

  t.test("names an applied migration that differs from its file", async (t) => {
    const settings: Record<string, string> = { ...healthy, DATABASE_URL: await cloneDatabase(t) };
    const raw = await connectRawClient(t, settings.DATABASE_URL as string);
    await raw.query("update migrations set hash = 'another' where id = 2");
    const { code, wrong } = await examine(t, settings);
    t.equal(code, 1);
    t.match(wrong, [
      {
        check: "migrations",
        status: "failed",
        message: "changed after they were applied: 002_workers.sql",
        mend: /restore these files .* new file of sql\//,
      },
    ]);
    t.match(await createCommandRunner(t, settings)(["migrate"]), { code: 1, err: /Hashes don't match/ });
  });

  t.test("warns of platforms that do not answer, which production cannot do without", async (t) => {
    const { code, wrong } = await examine(t, { ...healthy, CHAT_PLATFORM_URL: "http://127.0.0.1:1/v1" });
    t.equal(code, 0);
    t.match(wrong, [{ check: "platforms", status: "warning", mend: /correct CHAT_PLATFORM_URL,/ }]);
    const production = await examine(t, {
      ...healthy,
      NODE_ENV: "production",
      CHAT_PLATFORM_URL: "https://127.0.0.1:1/v1",
    });
    t.ok(production.wrong.some(({ check, status }) => check === "platforms" && status === "failed"));
  });

  t.test("asks the identity provider for its keys", async (t) => {
    const provider = { JWT_ISSUER: "i", JWT_AUDIENCE: "a" };
    const good = { ...healthy, ...provider, JWT_JWKS_URL: await startHttpServer(t, '{"keys":[]}') };
    t.same((await examine(t, good)).wrong, []);
    const bad = { ...healthy, ...provider, JWT_JWKS_URL: await startHttpServer(t, "<html>") };
    t.match((await examine(t, bad)).wrong, [
      { check: "identity", status: "failed", mend: "correct JWT_JWKS_URL" },
    ]);
  });

  t.test("knows secrets of older keys and of lost ones", async (t) => {
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
    t.match(rotated.wrong, [{ check: "secrets", status: "warning", mend: "run herald secrets rotate" }]);
    const lost = await examine(t, { ...settings, ENCRYPTION_KEYS: other });
    t.match(lost.wrong, [
      { check: "secrets", status: "failed", message: /by a key "k1" that ENCRYPTION_KEYS lacks/ },
    ]);
    const impostor = await examine(t, { ...settings, ENCRYPTION_KEYS: other.replace("k9", "k1") });
    t.match(impostor.wrong, [{ check: "secrets", status: "failed", message: /lacks, or has otherwise/ }]);
  });
});
