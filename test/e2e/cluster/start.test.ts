import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { freePort } from "../../../src/local/server-process.ts";
import { readEnvFile } from "../../../src/local/settings.ts";
import { startLocally } from "../../../src/local/start.ts";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { createClient, findClient, listClients } from "../../../src/store/tenants/clients.ts";
import { checkDocumentation } from "../../fixtures/docs/check-documentation.ts";
import {
  checkHeraldInShell,
  checkPlatforms,
  checkSignupDemo,
  runHerald,
  runPrintedCommands,
} from "../../fixtures/processes/check-start.ts";
import { type RunningProcess, START_TIMEOUT_MS, startProcess } from "../../fixtures/processes/processes.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";
import { allocateRedisDatabase, cloneDatabase } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

const PID_FILES = [
  "web.pid",
  "sandbox.pid",
  "dispatcher.pid",
  "scheduler.pid",
  "redis/redis.pid",
  "postgres/data/postmaster.pid",
];

const readPid = (folder: string, file: string) =>
  Number(readFileSync(join(folder, file), "utf8").split("\n")[0]);

/** Process ids of the servers and processes of a running start. */
const readPids = (folder: string) => PID_FILES.map((file) => readPid(folder, file));

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const untilUp = ({ stdout }: Pick<RunningProcess, "stdout">) =>
  until("Herald is up", () => stdout().includes("Herald is up."), START_TIMEOUT_MS);

/** An ended process keeps its id until its parent has collected its exit status. */
const untilAllEnded = (pids: readonly number[]) => until(`ended: ${pids}`, () => !pids.some(isAlive));

function openDatabase(t: Test, folder: string) {
  const { DATABASE_URL = "" } = readEnvFile(join(folder, "env"));
  const db = createDatabase({ DATABASE_URL, DATABASE_POOL: 1, DATABASE_PREPARED: true }, () => {});
  t.teardown(() => db.close());
  return db;
}

const readDemoSettings = (folder: string) =>
  Object.fromEntries(
    Object.entries(readEnvFile(join(folder, "env"))).filter(([name]) => name.startsWith("DEMO_")),
  );

const readScripts = (): Record<string, string> =>
  JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")).scripts;

/** A folder with the product's start script, whose build does nothing: other tests use what is built. */
function makeScriptFolder(t: Test): string {
  const cwd = makeTempFolder(t);
  writeFileSync(join(cwd, "package.json"), JSON.stringify({ scripts: { start: readScripts().start } }));
  mkdirSync(join(cwd, "tools"));
  writeFileSync(join(cwd, "tools/build.js"), "");
  symlinkSync(join(packageRoot(), "dist"), join(cwd, "dist"));
  return cwd;
}

t.test("npm start", async (t) => {
  const folder = makeTempFolder(t);
  // The remains of a first start that was interrupted while it created the database.
  mkdirSync(join(folder, "postgres/data.new/global"), { recursive: true });
  writeFileSync(join(folder, "postgres/data.new/PG_VERSION"), "15\n");
  const [PORT, SANDBOX_PORT] = [String(await freePort()), String(await freePort())];
  const address = `http://127.0.0.1:${PORT}`;
  const isUp = () =>
    fetch(`${address}/readyz`).then(
      (response) => response.ok,
      () => false,
    );
  const start = (env: Record<string, string>, inFolder = folder) =>
    startProcess(t, "start", { PORT, SANDBOX_PORT, ...env }, { args: ["--folder", inFolder] });
  const startByNpm = (t: Test, env: Record<string, string>) =>
    startProcess(
      t,
      "npm start",
      { PORT, SANDBOX_PORT, ...env },
      {
        command: { program: ["npm", "start", "--"], cwd: makeScriptFolder(t) },
        args: ["--folder", folder],
      },
    );
  /** For starts that are refused: takes less time than a process. */
  const startHere = (env: Record<string, string> = {}) => {
    const { PATH = "" } = process.env;
    const { signal } = new AbortController();
    const settings = { PATH, PORT, SANDBOX_PORT, ...env };
    return startLocally({ env: settings, runtime: "node", folder, say: () => {}, stop: signal });
  };
  let clientId = "";
  let demoSettings: Record<string, string> = {};
  // A page waits for a report, which the default fetches after up to 30 seconds.
  const starter = start({ CRON_REPORTS: "* * * * * *" });
  let orphanPids: number[] = [];

  t.test("npm start starts everything in an empty folder and prints the addresses", async (t) => {
    await until("the first step is shown", () =>
      starter.stdout().startsWith("Starting postgres and redis-server"),
    );
    await until("web is ready", isUp, START_TIMEOUT_MS);
    await untilUp(starter);
    for (const shown of [
      /^ {4}console {4}http:\S+\/console\n {4}login {6}owner@example\.com {2}\w{20}\n {4}address /m,
      `console    http://localhost:${PORT}/console`,
      `address    http://localhost:${PORT}`,
      `docs       http://localhost:${PORT}/api/docs`,
      `guides     http://localhost:${PORT}/docs/`,
      `sandbox    http://localhost:${SANDBOX_PORT}/_sandbox`,
      `signup     http://localhost:${SANDBOX_PORT}/_sandbox/signup`,
    ])
      t.match(starter.stdout(), shown);
    await runPrintedCommands(t, starter.stdout());
    for (const name of ["sandbox", "web", "dispatcher", "scheduler"])
      t.match(starter.stdout(), new RegExp(`^${name} +\\|.*process.ready`, "m"));
    t.equal(statSync(join(folder, "env")).mode & 0o777, 0o600);
    demoSettings = readDemoSettings(folder);
    t.match(demoSettings, {
      DEMO_WEBHOOK_SECRET: /^whsec_/,
      DEMO_EMAIL: "owner@example.com",
      DEMO_API_KEY: /^svc_test_/,
      DEMO_PASSWORD: /^\w{20}$/,
    });
    t.match(starter.stdout(), demoSettings.DEMO_API_KEY as string);
    await checkHeraldInShell(t, folder);
    await checkSignupDemo(t, SANDBOX_PORT);
    await checkPlatforms(t, folder);
    clientId = (await createClient(openDatabase(t, folder), "kept")).id;
    await t.rejects(
      startHere(),
      /already runs from this folder .* at http:\/\/localhost:\d+; its API key and login are in/,
    );
  });

  t.test("the commands of the documentation", (t) => checkDocumentation(t, folder));

  t.test("the servers outlive a killed start process", async (t) => {
    const pids = readPids(folder);
    t.same(pids.filter(isAlive), pids);
    starter.child.kill("SIGKILL"); // its servers keep its output open
    await until("it has ended", () => starter.child.signalCode !== null);
    t.ok(isAlive(pids.at(-1) as number));
    orphanPids = pids;
  });

  t.test("npm start does not store wrong settings", async (t) => {
    const before = readFileSync(join(folder, "env"), "utf8");
    await t.rejects(startHere({ JWT_SECRET: "short" }), /JWT_SECRET must be a text of at least 32 bytes/);
    t.equal(readFileSync(join(folder, "env"), "utf8"), before);
  });

  t.test(
    "npm start after a kill ends the orphaned servers and keeps the data and the old settings",
    async (t) => {
      const before = readFileSync(join(folder, "env"), "utf8");
      const settings = readEnvFile(join(folder, "env"));
      const ENCRYPTION_KEYS = `k2:${Buffer.alloc(32).toString("base64")},${settings.ENCRYPTION_KEYS}`;
      // As in a terminal where the env file was loaded.
      const starter = startByNpm(t, { ...settings, ENCRYPTION_KEYS });
      await untilUp(starter);
      t.same(readEnvFile(join(folder, "env")), { ...settings, ENCRYPTION_KEYS }, "at the same addresses");
      t.match(starter.stdout(), /the former settings are kept in .*env\.before/);
      t.equal(readFileSync(join(folder, "env.before"), "utf8"), before);
      await untilAllEnded(orphanPids);
      t.match(await findClient(openDatabase(t, folder), clientId), { name: "kept" });
      t.same(readDemoSettings(folder), demoSettings, "the same demo client, key and login");
      const pids = readPids(folder);
      t.equal(await starter.stop("SIGTERM"), 0, "npm passes the signal on");
      t.match(starter.stdout(), /Herald has stopped\.\n$/);
      t.equal(readScripts().deno, `${readScripts().start} --deno`, "so it is with npm run deno");
      await untilAllEnded(pids);
      for (const command of ["client list", "doctor"]) {
        const { code, out, err } = await runHerald(t, folder, command);
        t.equal(code, 1);
        t.match(out + err, `the settings are from ${join(folder, "env")}: run npm start`);
      }
    },
  );

  t.test(
    "npm start uses the servers from the environment, and ends when one of its processes ends",
    async (t) => {
      const folder = makeTempFolder(t);
      const servers = {
        DATABASE_URL: await cloneDatabase(t, "template0"),
        REDIS_URL: await allocateRedisDatabase(),
      };
      const starter = start(servers, folder);
      // Its pid file is the last.
      await until(
        "the scheduler is started",
        () => existsSync(join(folder, "scheduler.pid")),
        START_TIMEOUT_MS,
      );
      t.match(readEnvFile(join(folder, "env")), servers);
      const pidFiles = ["dispatcher.pid", "sandbox.pid", "scheduler.pid", "start.pid", "web.pid"];
      t.same(readdirSync(folder).sort(), [...pidFiles, "env"].sort(), "no server is started");
      t.match(await listClients(openDatabase(t, folder)), [{ name: "Demo client" }]);
      process.kill(readPid(folder, "web.pid"), "SIGKILL");
      t.equal(await starter.ended(), 1);
      t.match(starter.stdout(), /web exited \(SIGKILL\); stopping all processes/);
      t.same(readdirSync(folder), ["env"], "all processes have ended");
    },
  );

  t.test("npm start refuses to run in production", async (t) => {
    const starter = start({ NODE_ENV: "production" });
    t.equal(await starter.ended(), 1);
    t.match(starter.stderr(), /npm start is for development/);
  });
});
