import t from "tap";
import { createLog } from "../../../src/runtime/logging/log.ts";
import { toLogfmt } from "../../../src/runtime/logging/logfmt.ts";

function lineOf(LOG_FORMAT: "logfmt" | "json" | "pretty", fields: Record<string, unknown>): string {
  let written = "";
  const log = createLog({
    LOG_LEVEL: "info",
    LOG_FORMAT,
    process: "web",
    write: (line) => (written += line),
  });
  log.info("process.ready", fields);
  log.debug("process.stopped");
  return written;
}

t.test("logfmt writes one line: the event first, then the fields in order", async (t) => {
  const line = lineOf("logfmt", { client: "c1", attempt: 2, ms: 3.5 });
  t.match(line, /^time=\S+Z level=info process=web event=process.ready client=c1 attempt=2 ms=3.5\n$/);
});

t.test("json writes one object per line", async (t) => {
  t.match(JSON.parse(lineOf("json", { client: "c1" })), {
    level: "info",
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

t.test("an error is logged with its cause and without other properties", async (t) => {
  const cause = Object.assign(new Error("inner"), { code: "ECONNREFUSED", options: { token: "hunter2" } });
  const error = Object.assign(new Error("outer", { cause }), { headers: { authorization: "hunter2" } });
  const line = lineOf("json", { err: error });
  t.notMatch(line, /hunter2/);
  t.match(JSON.parse(line).err, {
    message: "outer",
    stack: /log\.test/,
    cause: { message: "inner", code: "ECONNREFUSED" },
  });
});
