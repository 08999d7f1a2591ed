import t from "tap";
import { workOff } from "../bench/backlog.ts";
import type { BenchCase, Work } from "../bench/case.ts";
import { CASES } from "../bench/cases.ts";
import { startPeer, startReceiver } from "../bench/context.ts";
import { runCases } from "../bench/run-cases.ts";

const SMOKE_TEST = { rounds: 1, scale: 0.01, say: () => {} };

/** The other peers need packages that only `npm run bench` installs. */
const PEERS_HERE = ["express"];

const RUN = ["webhooks-1", "deliveries-1", "channel-rate"];

const RATE = { value: "rate", unit: "items/s", better: "higher" } as const;

/** Processor times are read from /proc, which only Linux has. */
const cpuOf = (name: string) =>
  process.platform === "linux" ? { [name]: Number, postgres: Number, redis: Number } : {};

t.test("cases of the benchmark run, and their contestants process all items", async (t) => {
  const cases = CASES.filter(({ name }) => RUN.includes(name)).map(
    ({ peers = {}, ...benchCase }): BenchCase => ({
      ...benchCase,
      peers: Object.fromEntries(Object.entries(peers).filter(([peer]) => PEERS_HERE.includes(peer))),
      measure: RATE,
      bounds: [{ ...RATE, limit: 1 }],
    }),
  );
  const results = await runCases({ ...SMOKE_TEST, cases, say: (line) => t.comment(line) });
  t.match(results, [
    { name: "webhooks-1/express", ratio: Number, peer: { rate: Number, cpu: cpuOf("peer") } },
    { name: "webhooks-1/-", reached: true, herald: { rate: Number, cpu: cpuOf("web") } },
    { name: "deliveries-1/-", reached: true, herald: { rate: Number, cpu: cpuOf("dispatcher") } },
    { name: "channel-rate/-", reached: true, herald: { rate: Number, cpu: cpuOf("dispatcher") } },
  ]);
});

const caseOf = (work: Work): BenchCase => ({ name: "test", about: "", item: "item", work });

t.test("a process that dies during a round fails the run", async (t) => {
  const work: Work = async (context) => {
    const { pid } = await startPeer(context, "express");
    return { run: () => new Promise(() => process.kill(pid, "SIGKILL")) };
  };
  await t.rejects(
    runCases({ ...SMOKE_TEST, cases: [caseOf(work)] }),
    /test failed: .*express\.js ended with SIGKILL/,
  );
});

/** A queue whose worker posts these ids instead of those that were enqueued. */
const workThatPosts =
  (posted: readonly string[], attempts: number): Work =>
  async (context) => {
    const receiver = await startReceiver(context, "backend");
    const post = (id: string) =>
      fetch(`${receiver.origin}/ok`, { method: "POST", headers: { "webhook-id": id } });
    const worker = {
      pid: process.pid,
      origin: "",
      suspend() {},
      resume: () =>
        void posted.reduce((before, id) => before.then(() => post(id)), Promise.resolve<unknown>(0)),
    };
    const queue = {
      workers: [worker],
      processes: {},
      enqueue: async (ids: readonly string[]) => [...ids],
      isIdle: async () => true,
      countWritten: async () => ({ done: 2, attempts }),
    };
    return { run: async () => (await workOff(queue, { receiver, items: ["a", "b"], keys: 2 })).sample };
  };

t.test("an item that arrives twice instead of another one fails the run", async (t) => {
  const cases = [caseOf(workThatPosts(["a", "a"], 2))];
  await t.rejects(runCases({ ...SMOKE_TEST, cases }), /2 requests with 1 of 2 keys have arrived/);
});

t.test("an item with two attempts fails the run", async (t) => {
  const cases = [caseOf(workThatPosts(["a", "b"], 3))];
  await t.rejects(runCases({ ...SMOKE_TEST, cases }), /3 attempts of 2 items/);
});
