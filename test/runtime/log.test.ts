import { spawn, spawnSync } from "node:child_process";
import { closeSync, constants, openSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createLog, toLogfmt, writeFully } from "../../src/runtime/log.ts";
import { makeTempFolder } from "../fixtures/servers/folders.ts";
import { until } from "../fixtures/until.ts";

function lineOf(
  LOG_FORMAT: "logfmt" | "json" | "pretty",
  fields: Record<string, unknown>,
  level: "info" | "error" = "info",
): string {
  let written = "";
  const log = createLog({
    LOG_LEVEL: "info",
    LOG_FORMAT,
    process: "web",
    write: (line) => (written += line),
  });
  log[level]("process.ready", fields);
  log.debug("process.stopped");
  return written;
}

t.test("logfmt writes one line: the event first, then the fields in order", async (t) => {
  const line = lineOf("logfmt", { client: "c1", attempt: 2, ms: 3.5 });
  t.match(
    line,
    /^time=\S+Z level=info process=web pid=\d+ event=process.ready client=c1 attempt=2 ms=3.5\n$/,
  );
});

t.test("json writes one object per line", async (t) => {
  t.match(JSON.parse(lineOf("json", { client: "c1" })), {
    level: "info",
    pid: process.pid,
    event: "process.ready",
    client: "c1",
  });
});

t.test("pretty writes the event and its fields on one line", async (t) => {
  const line = lineOf("pretty", { client: "c1", error: "timeout" });
  t.match(line, /process\.ready/);
  t.match(line, /"client":"c1"/);
  t.equal(line.trim().split("\n").length, 1);
});

t.test("a value cannot break its line or its key=value pair", async (t) => {
  t.equal(
    toLogfmt({ a: 'x" y=1\nlevel=error', b: "", c: undefined, d: null }),
    'a="x\\" y=1\\nlevel=error" b=""',
  );
  t.equal(toLogfmt({ a: { b: [1] }, c: "\u0085" }), 'a="{\\"b\\":[1]}" c="\u0085"');
});

const failure = () => {
  const cause = Object.assign(new Error("inner"), { code: "ECONNREFUSED", options: { token: "hunter2" } });
  return Object.assign(new Error('an "outer" error', { cause }), { headers: { authorization: "hunter2" } });
};

t.test(
  "an error is one text with its causes, and a code; its stack is logged at level error only",
  async (t) => {
    for (const level of ["info", "error"] as const) {
      const line = lineOf("json", { client: "c1", err: failure(), ms: 5 }, level);
      const { err, err_code, err_stack, ...rest } = JSON.parse(line);
      t.same([err, err_code], ['an "outer" error: inner', "ECONNREFUSED"]);
      if (level === "info") t.equal(err_stack, undefined);
      else
        t.match(err_stack, /^Error: an "outer" error\n +at .*log\.test.*\ncaused by: Error: inner\n +at /s);
      t.notMatch(line, /hunter2/);
      t.match(line, /"ms":5}\n$|"ms":5,"event":"process.ready"}\n$/, "the duration is last");
      t.match(rest, { client: "c1", ms: 5 });
    }
  },
);

t.test("logfmt escapes a stack once and keeps the duration last", async (t) => {
  const line = lineOf("logfmt", { client: "c1", ms: 5, err: failure() }, "error");
  t.equal(line.trim().split("\n").length, 1);
  const [, err, stack] =
    / client=c1 err=("(?:[^"\\]|\\.)*") err_code=ECONNREFUSED err_stack=("(?:[^"\\]|\\.)*") ms=5\n$/.exec(
      line,
    ) ?? [];
  t.equal(JSON.parse(err ?? "null"), 'an "outer" error: inner');
  t.match(JSON.parse(stack ?? "null"), /^Error: an "outer" error\n +at /);
});

t.test(
  "a cause that its error quotes is not repeated, and anything else thrown is named by its type",
  async (t) => {
    const cause = new Error("connect refused");
    const quoting = new Error("Postgres is not available: connect refused", { cause });
    t.equal(JSON.parse(lineOf("json", { err: quoting })).err, "Postgres is not available: connect refused");
    t.equal(JSON.parse(lineOf("json", { err: "hunter2" })).err, "thrown: string");
    const circular = new Error("again");
    circular.cause = circular;
    t.equal(JSON.parse(lineOf("json", { err: circular })).err, "again");
  },
);

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
