import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { documentationPages } from "../../../src/composition/docs/pages.ts";
import { readEnvFile } from "../../../src/local/env-file.ts";
import { freePort } from "../../../src/local/server-process.ts";
import { withOwnIds } from "../../../src/resources/docs/page/browser/own-examples.ts";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { codeBlocks } from "../../fixtures/docs/code-blocks.ts";
import { exampleRequest } from "../../fixtures/docs/example-request.ts";
import { openShell } from "../../fixtures/docs/shell.ts";
import { START_TIMEOUT_MS, startProcess } from "../../fixtures/processes/processes.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";
import { curlProgram } from "../../fixtures/servers/programs.ts";
import { allocateRedisDatabase, cloneDatabase, connectRawClient } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

const root = packageRoot();

/** Operations whose examples name objects that the demo client has after the guides' commands. */
const WORKING_EXAMPLES = [
  "GET /api/channels/{channel_id}",
  "POST /api/outbound/send",
  "GET /api/outbound/messages/{message_id}",
  "POST /api/templates/list",
  "GET /api/webhooks/events/{id}",
  "POST /api/webhooks/events/{id}/retry",
  "GET /api/marketing/ad-accounts/{id}",
  "POST /api/marketing/campaigns",
  "GET /api/marketing/campaigns",
  "GET /api/marketing/campaigns/{campaignId}",
  "POST /api/marketing/creatives",
  "POST /api/embed/sessions",
];

t.test("the commands of the documentation", async (t) => {
  curlProgram();
  const folder = makeTempFolder(t);
  const serverSettings = {
    DATABASE_URL: await cloneDatabase(t, "template0"),
    REDIS_URL: await allocateRedisDatabase(),
  };
  const [PORT, SANDBOX_PORT] = [String(await freePort()), String(await freePort())];
  // A page waits for a report, which the default fetches after up to 30 seconds.
  const startSettings = { PORT, SANDBOX_PORT, CRON_REPORTS: "* * * * * *", ...serverSettings };
  const starter = startProcess(t, "start", startSettings, { args: ["--folder", folder] });
  await until(
    "the start screen is shown",
    () => starter.stdout().includes("Herald is up."),
    START_TIMEOUT_MS,
  );

  t.test("npm start uses the servers from the environment and starts none", async (t) => {
    t.match(readEnvFile(join(folder, "env")), serverSettings);
    t.same(readdirSync(folder).sort(), [
      "dispatcher.pid",
      "env",
      "sandbox.pid",
      "scheduler.pid",
      "start.pid",
      "web.pid",
    ]);
    const database = await connectRawClient(t, serverSettings.DATABASE_URL);
    t.match((await database.query("select name from clients")).rows, [{ name: "Demo client" }]);
  });

  const runBlocks = await openShell(t, folder);
  const { DEMO_API_KEY = "", PUBLIC_URL = "", SANDBOX_URL } = readEnvFile(join(folder, "env"));
  const headers = { "x-svc-api-key": DEMO_API_KEY };
  const getJson = async (path: string) => (await fetch(PUBLIC_URL + path, { headers })).json();

  for (const page of documentationPages(root)) {
    const blocks = codeBlocks(readFileSync(join(root, page), "utf8")).filter(
      ({ language }) => language === "sh",
    );
    if (blocks.length === 0) continue;
    t.test(`${page} works when pasted`, async (t) => {
      const { status, output } = await runBlocks(blocks);
      t.equal(status, 0, output);
      t.match(await getJson("/api/webhooks/config"), {
        webhook_url: `${SANDBOX_URL}/_sandbox/inbox`,
        configured: true,
      });
    });
  }

  t.test("the program that npx starts runs the command line of the checkout", async (t) => {
    const { bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const { stdout } = await promisify(execFile)(process.execPath, [join(root, bin.herald), "--version"]);
    t.match(stdout, /^\d+\.\d+\.\d+$/m);
  });

  t.test("the examples of the API reference work for the demo client", async (t) => {
    const document = await withOwnIds(await getJson("/api/openapi.json"), getJson);
    for (const example of WORKING_EXAMPLES) {
      const { method, path, body } = exampleRequest(document, example);
      const reply = await fetch(PUBLIC_URL + path, { method, headers, ...(body ? { body } : {}) });
      t.ok(reply.ok, `${example}: ${reply.status} ${await reply.text()}`);
    }
  });

  t.test("npm start stops what it has started", async (t) => {
    t.equal(await starter.stop("SIGINT"), 0);
    t.match(starter.stdout(), /Herald has stopped\.\n$/);
  });
});
