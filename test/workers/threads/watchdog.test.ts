import t, { type Test } from "tap";
import { startProcess } from "../../fixtures/processes/processes.ts";
import { until } from "../../fixtures/until.ts";

const PROGRAM = "../test/fixtures/processes/watched-program";
/** The limit of the program. */
const LIMIT_MS = 1_000;

const startProgram = (t: Test, args: readonly string[], runtime: "node" | "deno" = "node") =>
  startProcess(t, PROGRAM, {}, { args, runtime });

const untilEnded = (program: ReturnType<typeof startProcess>) =>
  until("the program has ended", () => program.child.exitCode !== null || program.child.signalCode !== null);

t.test("the watchdog thread", async (t) => {
  t.jobs = 3; // each test waits for a process

  for (const runtime of ["node", "deno"] as const)
    t.test(
      `a process whose event loop is blocked names its work and is killed, under ${runtime}`,
      async (t) => {
        const program = startProgram(t, ["block"], runtime);
        await untilEnded(program);
        t.equal(program.child.signalCode, "SIGKILL");
        const lines = await until("the line has arrived", () => program.stderr().match(/^\{.*\}$/gm));
        t.equal(lines.length, 1);
        t.match(JSON.parse(lines[0] as string), {
          level: "error",
          process: "watched",
          event: "process.blocked",
          current: "delivery evt_1 client c1",
          in_progress: "delivery evt_1 client c1, POST /api/outbound/send req_2",
          count: 2,
          seconds: 1,
        });
      },
    );

  t.test("the line has the log format of the process", async (t) => {
    const program = startProgram(t, ["block", "logfmt"]);
    await untilEnded(program);
    await until("the line has arrived", () => program.stderr().endsWith("\n"));
    t.match(
      program.stderr(),
      /^time=\S+ level=error process=watched pid=\d+ event=process.blocked current="delivery evt_1 client c1" in_progress=".*" count=2 seconds=1\n$/,
    );
  });

  t.test(
    "a process that was stopped for longer than the limit is not killed when it continues",
    async (t) => {
      const program = startProgram(t, ["run"]);
      const runs = () => program.lines().filter(({ event }) => event === "ran").length;
      // Stops it in a short block, so that the thread continues before the event loop does.
      await until("the program runs", () => runs() > 0);
      program.child.kill("SIGSTOP");
      const continueAt = Date.now() + 2 * LIMIT_MS;
      await until("the limit has passed", () => Date.now() > continueAt);
      const runsBefore = runs();
      program.child.kill("SIGCONT");
      // A run takes 300 ms: the program has to outlive the limit once more.
      await until("the program has continued", () => runs() >= runsBefore + 5 || program.child.signalCode);
      t.equal(program.child.signalCode, null);
      t.equal(program.stderr(), "");
    },
  );

  for (const runtime of ["node", "deno"] as const)
    t.test(`the thread does not keep its process alive, under ${runtime}`, async (t) => {
      const program = startProgram(t, ["end"], runtime);
      await untilEnded(program);
      t.equal(program.child.exitCode, 0);
      t.match(program.lines(), [{ event: "watchdog.started" }]);
    });
});
