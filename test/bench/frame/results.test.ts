import t from "tap";
import type { Contestant, Measure, Sample } from "./case.ts";
import { median, ratioOf, resultsOf } from "./results.ts";

const contestant = (name: string): Contestant => ({ name, run: () => Promise.reject(new Error("not used")) });

const samples = (...rates: number[]): Sample[] =>
  rates.map((rate) => ({ values: { rate }, cpu: { web: rate / 10 } }));

const RATE: Measure = { value: "rate", unit: "items/s", better: "higher", targets: { express: 2 } };

const resultsWith = (measures: readonly Measure[], ...contestants: [string, Sample[]][]) =>
  resultsOf(
    { name: "webhook-endpoint", variants: [] },
    { name: "10", measures, isInSmokeTest: true, start: async () => [] },
    new Map(contestants.map(([name, measured]) => [contestant(name), measured])),
  );

t.test("the median of an even number of values is between the middle two", async (t) => {
  t.equal(median([3, 1, 2]), 2);
  t.equal(median([4, 1, 2, 3]), 2.5);
});

t.test("a ratio above 1 means that Herald is better, for times too", async (t) => {
  t.equal(ratioOf("higher", 200, 100), 2);
  t.equal(ratioOf("lower", 10, 20), 2);
  t.equal(ratioOf("lower", 10, Number.POSITIVE_INFINITY), Number.POSITIVE_INFINITY);
  t.equal(ratioOf("lower", Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY), 0);
});

t.test(
  "the ratio is the median of the rounds' ratios, and the spread their lowest and highest",
  async (t) => {
    const [row] = resultsWith(
      [RATE],
      ["herald", samples(100, 300, 400)],
      ["express", samples(100, 100, 100)],
    );
    t.match(row, {
      name: "webhook-endpoint/10/express",
      herald: 300,
      peer: 100,
      ratio: 3,
      target: 2,
      reached: true,
    });
    t.match(row, { spread: [1, 4], rounds: 3, cpu: { herald: { web: 30 }, peer: { web: 10 } } });
  },
);

t.test("a ratio below its target is not reached, and a peer without a target has no verdict", async (t) => {
  const rows = resultsWith(
    [RATE],
    ["herald", samples(100)],
    ["express", samples(60)],
    ["other", samples(50)],
  );
  t.match(rows, [
    { name: "webhook-endpoint/10/express", reached: false },
    { name: "webhook-endpoint/10/other", ratio: 2, target: null, reached: null },
  ]);
});

t.test("a limit makes a row without a peer", async (t) => {
  const p99 = { ...RATE, suffix: "p99", better: "lower", peers: [], limit: 100 } as const;
  t.match(resultsWith([p99], ["herald", samples(99, 120)], ["express", samples(1, 1)]), [
    {
      name: "webhook-endpoint/10-p99/-",
      herald: 109.5,
      peer: null,
      ratio: null,
      spread: [99, 120],
      target: 100,
      reached: false,
    },
  ]);
  t.match(resultsWith([{ ...RATE, targets: {} }], ["herald", samples(5)]), [
    { name: "webhook-endpoint/10/-", herald: 5, target: null, reached: null },
  ]);
});

t.test("a sample without the measured value is a fault", async (t) => {
  t.throws(() => resultsWith([{ ...RATE, value: "p99" }], ["herald", samples(1)]), /no p99/);
});
