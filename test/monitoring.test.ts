import { readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createMetrics } from "../src/runtime/metrics.ts";
import { packageRoot } from "../src/runtime/package-root.ts";

const read = (file: string) => readFileSync(join(packageRoot(), "docs/operate", file), "utf8");

interface LabelledMetric {
  name: string;
  labelNames?: readonly string[];
}

/** The labels of every metric that a process exports, by the name of its samples. */
function labelsBySample(t: Test): Map<string, ReadonlySet<string>> {
  const metrics = createMetrics("a process");
  metrics.collectProcess();
  t.teardown(() => metrics.registry.clear());
  const samples = new Map<string, ReadonlySet<string>>();
  for (const {
    name,
    labelNames = [],
  } of metrics.registry.getMetricsAsArray() as unknown as LabelledMetric[]) {
    const labels = new Set([...labelNames, "process", "le"]);
    for (const suffix of ["", "_bucket", "_sum", "_count"]) samples.set(name + suffix, labels);
  }
  return samples;
}

/** The metrics and labels that an expression names. */
function namesIn(expression: string) {
  const selectors = [...expression.matchAll(/\b((?:herald|nodejs|process)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)];
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = ""]) =>
    names.split(/,\s*/),
  );
  return selectors.map(([, name = "", matchers = ""]) => ({
    name,
    labels: [...matchers.matchAll(/([a-z_]+)\s*=~?\s*"/g)].map(([, label = ""]) => label).concat(grouped),
  }));
}

const isBalanced = (expression: string) =>
  [..."(){}[]"].every((_, index, all) => {
    const count = (character = "") => expression.split(character).length;
    return index % 2 === 1 || count(all[index]) === count(all[index + 1]);
  });

const alerts = [...read("alerts.yml").matchAll(/^ {8}expr: (.+)$/gm)].map(
  ([, expression = ""]) => expression,
);
const { panels }: { panels: { title: string; targets: { expr: string }[] }[] } = JSON.parse(
  read("dashboard.json"),
);
const table = [...read("metrics.md").matchAll(/^\|[^|]+\| `([^`|]*herald_[^`|]*)` /gm)].map(
  ([, expression = ""]) => expression,
);

t.test("alerts, dashboard and documentation name existing metrics and labels", async (t) => {
  const samples = labelsBySample(t);
  const shown = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  t.ok(alerts.length > 10 && shown.length > 10 && table.length > 3);
  for (const expression of [...alerts, ...shown, ...table]) {
    const names = namesIn(expression);
    t.ok(names.length > 0 && isBalanced(expression), expression);
    for (const { name, labels } of names) {
      t.ok(samples.has(name), `${name} exists`);
      for (const label of labels) t.ok(samples.get(name)?.has(label), `${name} has the label ${label}`);
    }
  }
});

t.test("every pattern of streams matches a stream", async (t) => {
  const streams = ["{18}:events", "{18}:bulk", "{18}:outbound"];
  const patterns = alerts.flatMap((expression) => [...expression.matchAll(/stream=~"([^"]+)"/g)]);
  t.ok(patterns.length > 0);
  for (const [, pattern = ""] of patterns)
    t.ok(
      streams.some((stream) => new RegExp(`^(?:${pattern})$`).test(stream)),
      pattern,
    );
});

t.test(
  "every alert has a name, a summary, a page that exists and a place in the documentation",
  async (t) => {
    const text = read("alerts.yml");
    const names = [...text.matchAll(/^ {6}- alert: (Herald\w+)$/gm)].map(([, name = ""]) => name);
    t.equal(names.length, alerts.length);
    for (const name of names) t.match(read("metrics.md"), `\`${name}\``);
    const runbooks = [...text.matchAll(/summary: ".+", runbook: "docs\/operate\/([a-z-]+\.md)"/g)];
    t.equal(runbooks.length, alerts.length);
    for (const [, page = ""] of runbooks) t.match(read(page), /^# /);
  },
);
