import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { runningPid, stopLeftover } from "../../src/local/leftover-processes.ts";

t.test("a leftover process is stopped, and another process with the same pid is not", async (t) => {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "--", "--started-from=/a"]);
  t.teardown(() => child.kill("SIGKILL"));
  await once(child, "spawn");
  const pidFile = join(t.testdir(), "pid");
  writeFileSync(pidFile, `${child.pid}\nmore\n`);

  const otherProcess = { pidFile, marker: "--started-from=/b" };
  t.equal(runningPid(otherProcess), undefined);
  await stopLeftover(otherProcess, "SIGTERM");
  const ours = { pidFile, marker: "--started-from=/a" };
  t.equal(runningPid(ours), child.pid);
  await stopLeftover(ours, "SIGTERM");
  t.equal(runningPid(ours), undefined);
});

t.test("a pid file with the own pid, an invalid pid or a dead pid names no running process", async (t) => {
  const pidFile = join(t.testdir(), "pid");
  for (const text of [String(process.pid), "0", "-1", "x", "", "999999999"]) {
    writeFileSync(pidFile, text);
    t.equal(runningPid({ pidFile, marker: "" }), undefined, text);
  }
  t.equal(runningPid({ pidFile: join(t.testdirName, "none"), marker: "" }), undefined);
});
