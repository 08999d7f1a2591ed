import { readFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { packageRoot } from "../../src/runtime/package-root.ts";
import type { BenchCase, Sample } from "./case.ts";
import { CASES, readOptions } from "./cases.ts";
import { buildRequest, percentilesOf, sendClosedLoop, sendOpenLoop } from "./load.ts";
import { documentsOf, drawChart, mergeResults, readStored } from "./report.ts";
import { median, ratioOf, resultsOf } from "./results.ts";

const CASE: BenchCase = {
  name: "webhooks-1",
  about: "",
  item: "update",
  work: () => Promise.reject(new Error("not used")),
  peers: { express: { target: 2 }, other: {} },
};

const samples = (...times: number[]): Sample[] =>
  times.map((cpu) => ({ values: { cpu, rate: 1_000 / cpu }, cpu: { web: cpu - 1, redis: 1 } }));

t.test("the median of an even number of values is between the middle two", async (t) => {
  t.equal(median([3, 1, 2]), 2);
  t.equal(median([4, 1, 2, 3]), 2.5);
  t.equal(median([1, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]), Number.POSITIVE_INFINITY);
});

t.test("a ratio above 1 means that Herald is better, for times too", async (t) => {
  t.equal(ratioOf("higher", 200, 100), 2);
  t.equal(ratioOf("lower", 10, 20), 2);
  t.equal(ratioOf("lower", 10, Number.POSITIVE_INFINITY), Number.POSITIVE_INFINITY);
  t.equal(ratioOf("lower", Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY), 0);
});

t.test(
  "processor time decides: the ratio is the median of the rounds' ratios, beside the rates",
  async (t) => {
    const [row, other] = resultsOf(CASE, {
      herald: samples(100, 300, 400),
      peers: { express: samples(300, 300, 300), other: samples(100, 100, 100) },
    });
    t.match(row, { name: "webhooks-1/express", value: "cpu", unit: "µs per update", ratio: 1, target: 2 });
    t.match(row, { reached: false, spread: [0.75, 3], rounds: 3 });
    t.same(row?.herald, { value: 300, rate: 1_000 / 300, cpu: { web: 299, redis: 1 } });
    t.match(other, { name: "webhooks-1/other", target: null, reached: null }, "a peer without a target");
  },
);

t.test("a bound makes a row of Herald's own value", async (t) => {
  const bound = { value: "p99", unit: "ms", better: "lower", limit: 100 } as const;
  const [row] = resultsOf(
    { ...CASE, bounds: [bound] },
    { herald: [99, 120].map((p99) => ({ values: { p99 }, cpu: {} })), peers: {} },
  );
  t.match(row, { name: "webhooks-1/-", peer: null, ratio: null, spread: [99, 120], reached: false });
  t.match(row?.herald, { value: 109.5, rate: null });
});

t.test("a sample without the measured value is a fault", async (t) => {
  const measure = { value: "p99", unit: "ms", better: "lower" } as const;
  const made = { herald: samples(1), peers: { express: samples(1) } };
  t.throws(() => resultsOf({ ...CASE, measure }, made), /no p99/);
});

const RUN = { date: "2026-01-01", machine: "m", loadBefore: 0 };
const rowsOf = (...names: string[]) =>
  names.map((name) => {
    const made = { herald: samples(100), peers: { express: samples(150) } };
    return { ...(resultsOf(CASE, made)[0] as ReturnType<typeof resultsOf>[number]), name, ...RUN };
  });

t.test("the chart has a bar for each row with a peer", async (t) => {
  const [row] = rowsOf("webhooks-1/express");
  if (!row) throw new Error("there is no row");
  const chart = drawChart([row, { ...row, ratio: null }, { ...row, ratio: Number.POSITIVE_INFINITY }]);
  t.equal(chart.match(/<rect /g)?.length, 2);
  t.notMatch(chart, /NaN|Infinity/);
});

t.test(
  "the documents show the rows of docs/benchmarks.json, and infinite values stay infinite",
  async (t) => {
    for (const [file, text] of documentsOf(readStored()))
      t.equal(readFileSync(join(packageRoot(), file), "utf8"), text, `${file} is up to date`);
    const infinite = rowsOf("webhooks-1/express").map((row) => ({ ...row, ratio: Number.POSITIVE_INFINITY }));
    const json = documentsOf(infinite).get("docs/benchmarks.json") ?? "";
    t.equal(JSON.parse(json).cases[0].ratio, Number.POSITIVE_INFINITY);
  },
);

t.test("a run of some cases replaces all their rows and keeps those of the others", async (t) => {
  const merged = mergeResults(
    rowsOf("messages/express", "webhooks-1/removed-peer"),
    rowsOf("webhooks-1/express"),
  );
  t.same(
    merged.map(({ name }) => name),
    ["messages/express", "webhooks-1/express"],
  );
});

t.test("the names of cases are unique, and README.md has three rows", async (t) => {
  const names = CASES.map(({ name }) => name);
  t.equal(new Set(names).size, names.length);
  const [, summary = ""] = (documentsOf(readStored()).get("README.md") ?? "").split(
    "<!-- benchmark: summary -->",
  );
  t.equal(summary.split("<!-- end -->")[0]?.match(/^\| (?!work)[a-z0-9]/gm)?.length, 3);
});

t.test("--only names cases, and --write refuses a run that is too short to be published", async (t) => {
  const namesOf = (...args: string[]) => readOptions(args).cases.map(({ name }) => name);
  t.same(namesOf("--only=webhooks-1,messages"), ["messages", "webhooks-1"]);
  t.same(
    readOptions([]).cases,
    CASES.filter(({ onlyWhenNamed }) => !onlyWhenNamed),
  );
  t.same(namesOf("--only=soak"), ["soak"]);
  t.match(readOptions(["--smoke"]), { rounds: 1, scale: 0.01 });
  t.throws(() => readOptions(["--only=dor"]), /there is no dor/);
  t.throws(() => readOptions(["--rounds=0"]), /positive/);
  t.throws(() => readOptions(["--write", "--rounds=4"]), /at least 5 rounds/);
  t.throws(() => readOptions(["--write", "--scale=0.5"]), /at least 5 rounds/);
  t.throws(() => readOptions(["--write", "--smoke"]), /at least 5 rounds/);
});

async function startServer(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Answers with the status after the body has arrived, and records the bodies. */
const recordBodies =
  (status: number, bodies: string[] = []): RequestListener =>
  async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    bodies.push(body);
    response.writeHead(status, { "content-length": "2" });
    response.write("o");
    setTimeout(() => response.end("k"), 5);
  };

const BODIES = Array.from({ length: 20 }, (_, index) => `é${index}`).sort();
const REQUESTS = BODIES.map((body) => buildRequest({ path: "/", headers: { a: "b" }, body }));

t.test("both loops send every request once and wait for the complete answers", async (t) => {
  const bodies: string[] = [];
  const target = { origin: await startServer(t, recordBodies(202, bodies)), status: 202 };
  const { seconds, p50, p99 } = await sendClosedLoop(target, 4, REQUESTS);
  t.same(bodies.splice(0).sort(), BODIES);
  t.ok(seconds > 0.02 && p50 >= 4 && p99 >= p50);
  const open = await sendOpenLoop(target, 1_000, REQUESTS);
  t.same(bodies.sort(), BODIES);
  t.ok(open.p50 >= 4);
});

t.test("an unexpected status fails the load", async (t) => {
  const target = { origin: await startServer(t, recordBodies(500)), status: 202 };
  await t.rejects(sendClosedLoop(target, 2, REQUESTS), /answered HTTP\/1.1 500/);
  await t.rejects(sendOpenLoop(target, 1_000, REQUESTS), /answered HTTP\/1.1 500/);
});

t.test("a server that closes its connections fails the load", async (t) => {
  const target = { origin: await startServer(t, (request) => request.socket.destroy()), status: 202 };
  await t.rejects(sendClosedLoop(target, 2, REQUESTS), /closed|ECONNRESET/);
});

t.test("the 99th percentile of 100 times is the longest", async (t) => {
  t.same(percentilesOf(Array.from({ length: 100 }, (_, index) => 100 - index)), { p50: 51, p99: 100 });
});
