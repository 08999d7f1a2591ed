import t from "tap";
import { freePort } from "../../src/local/server-process.ts";
import { startProcess } from "../fixtures/processes/processes.ts";
import { startSandbox } from "../fixtures/sandbox/sandbox.ts";

for (const runtime of ["node", "deno"] as const)
  t.test(`the sandbox runs under ${runtime} with only its ports, and stops cleanly`, async (t) => {
    const [SANDBOX_PORT, SANDBOX_MEDIA_PORT] = [String(await freePort()), String(await freePort())];
    const sandbox = startProcess(t, "sandbox", { SANDBOX_PORT, SANDBOX_MEDIA_PORT }, { runtime });
    t.match(await sandbox.waitForLine("sandbox.listening"), {
      port: Number(SANDBOX_PORT),
      media_port: Number(SANDBOX_MEDIA_PORT),
      process: "sandbox",
    });
    const origin = `http://localhost:${SANDBOX_PORT}`;
    const index = await fetch(`${origin}/_sandbox`);
    t.match(await index.json(), { platforms: `${origin}/v26.0` });
    const arm = (kind: string) =>
      fetch(`${origin}/_sandbox/faults`, { method: "POST", body: JSON.stringify({ kind }) });
    for (const kind of ["drop_before", "drop_after"]) {
      t.equal((await arm(kind)).status, 201);
      await t.rejects(fetch(`${origin}/v26.0/1`), /fetch failed/, kind);
    }
    t.equal((await fetch(`${origin}/v26.0/1`)).status, 401);
    t.equal(await sandbox.stop(), 0);
    t.match(sandbox.lines().at(-1), { event: "process.stopped", clean: true });
    t.equal(sandbox.stderr(), "");
  });

t.test("the sandbox reports all wrong settings that it reads, and no others", async (t) => {
  const wrong = { SANDBOX_PORT: "x", PUBLIC_URL: "y", DATABASE_URL: "z", ENCRYPTION_KEYS: "?" };
  const sandbox = startProcess(t, "sandbox", wrong);
  t.equal(await sandbox.ended(), 1);
  t.match(
    sandbox.stderr(),
    /^herald sandbox cannot start, 2 wrong settings:\n {2}- PUBLIC_URL must be .*\n {2}- SANDBOX_PORT must be .*\n$/,
  );
});

t.test("the sandbox does not start in production", async (t) => {
  const sandbox = startProcess(t, "sandbox", { NODE_ENV: "production" });
  t.equal(await sandbox.ended(), 1);
  t.match(
    sandbox.stderr(),
    /^herald sandbox cannot start, 1 wrong setting:\n {2}- NODE_ENV must not be production: .*\n$/,
  );
});

t.test("the sandbox logs that its port is in use", async (t) => {
  const { SANDBOX_PORT } = (await startSandbox(t)).serviceSettings;
  const SANDBOX_MEDIA_PORT = String(await freePort());
  const second = startProcess(t, "sandbox", { SANDBOX_PORT, SANDBOX_MEDIA_PORT });
  t.match(await second.waitForLine("process.failed"), { worker: "sandbox", err_code: "EADDRINUSE" });
  t.equal(await second.ended(), 1);
});
