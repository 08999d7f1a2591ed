import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { readEnvFile } from "../../../src/local/env-file.ts";
import { freePort } from "../../../src/local/server-process.ts";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { createClient, findClient } from "../../../src/store/tenants/clients.ts";
import { type RunningProcess, START_TIMEOUT_MS, startProcess } from "../../fixtures/processes/processes.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";
import { curlProgram } from "../../fixtures/servers/programs.ts";
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

/** Runs the three printed commands in a shell, as a person would. */
async function runPrintedCommands(t: Test, output: string): Promise<void> {
  curlProgram();
  const runShell = (command = "") =>
    JSON.parse(spawnSync("sh", ["-c", command], { encoding: "utf8" }).stdout);
  const [send, inbound, inbox] = output.split("\n").filter((line) => line.startsWith("curl "));
  const { message_id, status } = runShell(send);
  t.equal(status, "queued");
  t.equal(runShell(inbound).error, undefined);
  interface InboxEntry {
    path: string;
    body: { type: string; data: { message_id?: string; status?: string; content?: object } };
  }
  const readInbox = (): InboxEntry[] => runShell(inbox).data;
  const hasStatus = ({ body }: InboxEntry, word: string) =>
    body.data.message_id === message_id && body.data.status === word;
  const delivered = await until("the message is delivered", () =>
    readInbox().find((entry) => hasStatus(entry, "delivered")),
  );
  t.equal(delivered.path, "/_sandbox/inbox/chat/updateMessageStatus");
  const received = await until("the inbound message arrives", () =>
    readInbox().find(({ body }) => body.type === "message.received"),
  );
  t.match(received, {
    path: "/_sandbox/inbox/chat/receiveMessage",
    body: { data: { content: { body: "Hi" } } },
  });
}

/** Runs the command line without settings in its environment: it reads those that npm start stored. */
const runHerald = (folder: string, ...words: string[]) =>
  spawnSync(process.execPath, ["dist/bin/herald.js", ...words, "--folder", folder], {
    encoding: "utf8",
    cwd: packageRoot(),
    env: { PATH: process.env.PATH },
    input: "a password by pipe\n",
  });

async function checkHeraldInShell(t: Test, folder: string): Promise<void> {
  const herald = (...words: string[]) => runHerald(folder, ...words);
  const list = herald("client", "list", "--json");
  t.equal(list.status, 0, list.stderr);
  const [client] = JSON.parse(list.stdout).data;
  t.match(client, { name: "Demo client" });
  const userArgs = [
    "--client",
    client.client_id,
    "--email",
    "pipe@example.com",
    "--name",
    "P",
    "--role",
    "viewer",
  ];
  const created = herald("user", "create", ...userArgs, "--password", "-", "--json");
  t.match(JSON.parse(created.stdout), { user_id: /^usr_/ });
  t.notMatch(created.stdout, "password");
  const piped = spawnSync("sh", ["-c", `"${process.execPath}" dist/bin/herald.js --help | true`], {
    encoding: "utf8",
    cwd: packageRoot(),
  });
  t.equal(piped.stderr, "", "a reader may close the pipe early");
}

async function checkSignupDemo(t: Test, sandboxPort: string): Promise<void> {
  const demo = `http://localhost:${sandboxPort}/_sandbox/signup/session`;
  const session = (await (await fetch(demo, { method: "POST" })).json()) as { url: string };
  t.equal((await fetch(session.url)).status, 200, "the signup demo has a session");
}

/** Checks that the env file's settings lead to the sandbox. */
async function checkPlatforms(t: Test, folder: string): Promise<void> {
  const { AD_PLATFORM_URL, PLATFORM_APP_ID, PLATFORM_APP_SECRET } = readEnvFile(join(folder, "env"));
  const headers = { authorization: `Bearer ${PLATFORM_APP_ID}|${PLATFORM_APP_SECRET}` };
  const answer = await fetch(`${AD_PLATFORM_URL}/${PLATFORM_APP_ID}`, { headers });
  t.match(await answer.json(), { id: PLATFORM_APP_ID });
  const { findings } = JSON.parse(runHerald(folder, "doctor", "--json").stdout);
  const platforms = findings.filter(({ check }: { check: string }) => check === "platforms");
  t.match(platforms, [{ status: "ok" }]);
}

t.test("npm start", async (t) => {
  const folder = makeTempFolder(t);
  const [PORT, SANDBOX_PORT] = [String(await freePort()), String(await freePort())];
  const address = `http://127.0.0.1:${PORT}`;
  const isUp = () =>
    fetch(`${address}/readyz`).then(
      (response) => response.ok,
      () => false,
    );
  const start = (env: Record<string, string> = {}) =>
    startProcess(t, "start", { PORT, SANDBOX_PORT, ...env }, { args: ["--folder", folder] });
  let clientId = "";
  let demoSettings: Record<string, string> = {};
  let orphanPids: number[] = [];

  t.test("npm start starts everything in an empty folder and prints the addresses", async (t) => {
    // The remains of a first start that was interrupted while it created the database.
    mkdirSync(join(folder, "postgres/data.new/global"), { recursive: true });
    writeFileSync(join(folder, "postgres/data.new/PG_VERSION"), "15\n");
    const starter = start();
    await until("the first step is shown", () =>
      starter.stdout().startsWith("Starting postgres and redis-server"),
    );
    await until("web is ready", isUp, START_TIMEOUT_MS);
    await untilUp(starter);
    for (const shown of [
      `address    http://localhost:${PORT}`,
      `docs       http://localhost:${PORT}/api/docs`,
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

    const pids = readPids(folder);
    t.same(pids.filter(isAlive), pids);
    const second = start();
    t.not(await second.ended(), 0);
    t.match(
      second.stderr(),
      /already runs from this folder .* at http:\/\/localhost:\d+; its API key and login are in/,
    );

    starter.child.kill("SIGKILL"); // its servers keep its output open
    await until("it has ended", () => starter.child.signalCode !== null);
    t.ok(isAlive(pids.at(-1) as number), "the servers outlive the killed start process");
    orphanPids = pids;
  });

  t.test("npm start does not store wrong settings", async (t) => {
    const before = readFileSync(join(folder, "env"), "utf8");
    const wrong = start({ JWT_SECRET: "short" });
    t.equal(await wrong.ended(), 1);
    t.match(wrong.stderr(), /JWT_SECRET must be a text of at least 32 bytes/);
    t.equal(readFileSync(join(folder, "env"), "utf8"), before);
  });

  t.test(
    "npm start after a kill ends the orphaned servers and keeps the data and the old settings",
    async (t) => {
      const before = readFileSync(join(folder, "env"), "utf8");
      const settings = readEnvFile(join(folder, "env"));
      const ENCRYPTION_KEYS = `k2:${Buffer.alloc(32).toString("base64")},${settings.ENCRYPTION_KEYS}`;
      const starter = start({ ...settings, ENCRYPTION_KEYS }); // as in a terminal where the env file was loaded
      await untilUp(starter);
      t.same(readEnvFile(join(folder, "env")), { ...settings, ENCRYPTION_KEYS }, "at the same addresses");
      t.match(starter.stdout(), /the former settings are kept in .*env\.before/);
      t.equal(readFileSync(join(folder, "env.before"), "utf8"), before);
      await untilAllEnded(orphanPids);
      t.match(await findClient(openDatabase(t, folder), clientId), { name: "kept" });
      t.same(readDemoSettings(folder), demoSettings, "the same demo client, key and login");
      const pids = readPids(folder);
      process.kill(pids[0] as number, "SIGKILL");
      t.equal(await starter.ended(), 1, "it ends when one of its processes ends");
      t.match(starter.stdout(), /web exited \(SIGKILL\); stopping all processes/);
      await untilAllEnded(pids);
      for (const words of [["client", "list"], ["doctor"]]) {
        const { status, stdout, stderr } = runHerald(folder, ...words);
        t.equal(status, 1);
        t.match(stdout + stderr, `the settings are from ${join(folder, "env")}: run npm start`);
      }
    },
  );

  t.test("npm start refuses to run in production", async (t) => {
    const starter = startProcess(t, "start", { NODE_ENV: "production" }, { args: ["--folder", folder] });
    t.equal(await starter.ended(), 1);
    t.match(starter.stderr(), /npm start is for development/);
  });
});
