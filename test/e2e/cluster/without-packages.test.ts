import { cpSync, existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import t, { type Test } from "tap";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { imageOfSize, MIB, TINY_IMAGES } from "../../fixtures/images/images.ts";
import { startLocalCluster } from "../../fixtures/processes/local-cluster.ts";
import { startProcess } from "../../fixtures/processes/processes.ts";
import { unconnectedSettings } from "../../fixtures/processes/settings.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";
import { cloneDatabase } from "../../fixtures/servers/servers.ts";

/** What a deployment needs. */
const PARTS = ["bin/npx-herald.js", "dist", "docs", "package.json", "sql"];

/** The folders of dist/ that only the build of the tests writes. */
const TEST_BUILD = /^dist\/(?:src|test)(?:\/|$)/;

/** Copies the built service to a folder where Node finds no packages, and returns the folder. */
function copyService(t: Test): string {
  const folder = makeTempFolder(t);
  const filter = (file: string) => !TEST_BUILD.test(relative(packageRoot(), file));
  for (const part of PARTS)
    cpSync(join(packageRoot(), part), join(folder, part), { recursive: true, filter });
  for (let parent = folder; parent !== dirname(parent); parent = dirname(parent))
    t.notOk(existsSync(join(parent, "node_modules")), `no packages in ${parent}`);
  return folder;
}

t.test("the built service runs from a folder without packages and sources", async (t) => {
  const root = copyService(t);
  const DATABASE_URL = await cloneDatabase(t, "template0");
  const log = { LOG_FORMAT: "pretty", LOG_LEVEL: "info" };
  const migrate = startProcess(t, "migrate", { ...unconnectedSettings(), DATABASE_URL }, { root, log });
  t.equal(await migrate.ended(), 0, migrate.stdout());
  t.match(migrate.stdout(), /migrations\.applied/);

  const { web, dispatcher, callApi, settings } = await startLocalCluster(t, {
    root,
    extra: { DATABASE_URL },
  });
  const scheduler = startProcess(t, "scheduler", settings, { root });
  const program = [process.execPath, join(root, "bin/npx-herald.js"), "doctor", "--json"] as const;
  const doctor = startProcess(t, "herald", settings, { command: { program, cwd: root } });

  await t.test("threads decode images", async (t) => {
    const { body } = await callApi("GET", "/api/marketing/ad-accounts?status=active");
    const [{ ad_account_id }] = body.data;
    for (const bytes_base64 of [imageOfSize(MIB), TINY_IMAGES.png])
      t.match(await callApi("POST", "/api/marketing/images", { ad_account_id, bytes_base64 }), {
        status: 200,
        body: { width: 3, height: 2 },
      });
  });

  await t.test("web serves all pages", async (t) => {
    for (const path of [
      "/console",
      "/api/docs",
      "/docs/",
      "/docs/guides/errors",
      "/docs/guides/errors.md",
      "/api/openapi.json",
      "/embed/callback",
    ])
      t.equal((await web.call("GET", path)).status, 200, path);
    const missing = await web.call("GET", "/embed/none/none");
    t.match(missing, { status: 404, text: /<style[^>]*>[^<]*--ink:/ }, "the page of an error has its style");
  });

  await scheduler.waitForLine("process.ready");
  t.equal(await doctor.ended(), 0, doctor.stdout() + doctor.stderr());
  t.match(JSON.parse(doctor.stdout()), { healthy: true });

  // Their orderly end would take a second.
  for (const process of [web, dispatcher, scheduler]) await process.stop("SIGKILL");
});
