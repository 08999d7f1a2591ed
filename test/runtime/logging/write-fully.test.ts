import { spawn, spawnSync } from "node:child_process";
import { closeSync, constants, openSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { writeFully } from "../../../src/runtime/logging/write-fully.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";
import { until } from "../../fixtures/until.ts";

/** Ten milliseconds each: longer than the reader needs on any machine. */
const RETRIES_FOR_SLOW_READER = 10_000;

const FILLER = Buffer.alloc(65_536, "x");

/** A full pipe that refuses further bytes instead of waiting for a reader. */
function openFullPipe(t: Test) {
  const path = join(makeTempFolder(t), "pipe");
  spawnSync("mkfifo", [path]);
  // Before its folder is removed: once rmSync has removed a pipe, later test files of this process fail to load packages.
  t.teardown(() => unlinkSync(path));
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  let filled = 0;
  try {
    for (;;) filled += writeSync(fd, FILLER);
  } catch (error) {
    t.match(error, { code: "EAGAIN" });
  }
  return { path, fd, filled };
}

/**
 * A separate process, because a write that waits blocks this one. Reads only as much as the pipe holds at first, so that
 * the line does not fit at once, and prints the rest.
 */
const READER = `
  const { openSync, readSync } = require("node:fs");
  const [path, first, rest] = process.argv.slice(1);
  const fd = openSync(path);
  const read = (count) => {
    const bytes = Buffer.alloc(Number(count));
    for (let done = 0; done < bytes.length; ) done += readSync(fd, bytes, done, bytes.length - done, null);
    return bytes;
  };
  process.stdout.write("ready");
  setTimeout(read, 20, first);
  setTimeout(() => process.stdout.write(read(rest)), 40);
`;

t.test("a line waits for the reader of a full pipe and arrives complete", async (t) => {
  const { path, fd, filled } = openFullPipe(t);
  const line = `${"y".repeat(2 * filled)}\n`;
  const args = ["-e", READER, path, String(filled), String(line.length)];
  const reader = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(() => reader.kill());
  let received = "";
  reader.stdout.on("data", (chunk) => (received += chunk));
  await until("the reader is ready", () => received === "ready");
  writeFully(fd, line, RETRIES_FOR_SLOW_READER);
  await until("the line has arrived", () => received.length >= "ready".length + line.length);
  closeSync(fd);
  t.ok(received === `ready${line}`);
});

t.test("a pipe that is never read does not hold the writer", async (t) => {
  const { fd } = openFullPipe(t);
  writeFully(fd, "a line\n");
  closeSync(fd);
});

t.test("a file descriptor that is not open is an error", async (t) => {
  t.throws(() => writeFully(999_999, "a line\n"), { code: "EBADF" });
});
