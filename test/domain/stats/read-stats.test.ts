import t from "tap";
import { readStatsPeriod } from "../../../src/domain/stats/read-stats.ts";

const NOW = Date.parse("2026-11-16T10:30:00Z");

const read = (input: Parameters<typeof readStatsPeriod>[0]) => {
  const period = readStatsPeriod(input, NOW);
  if ("field" in period) return period;
  return `${period.since.toISOString().slice(0, 13)} ${period.until.toISOString().slice(0, 13)} ${period.interval}`;
};

t.test("the period is the last 24 hours, extended to whole intervals", async (t) => {
  t.equal(read({}), "2026-11-15T10 2026-11-16T11 hour");
  t.equal(read({ interval: "day" }), "2026-11-15T00 2026-11-17T00 day");
});

t.test("the period contains the given times", async (t) => {
  const [since, until] = ["2026-11-01T09:00:00Z", "2026-11-02T12:00:00+03:00"];
  t.equal(read({ since, until }), "2026-11-01T09 2026-11-02T09 hour");
  t.equal(read({ since, until, interval: "day" }), "2026-11-01T00 2026-11-03T00 day");
  t.equal(read({ since }), "2026-11-01T09 2026-11-16T11 hour");
  t.equal(read({ until }), "2026-11-01T09 2026-11-02T09 hour");
  t.equal(read({ since: "2027-01-01T00:30:00Z" }), "2027-01-01T00 2027-01-01T01 hour");
});

t.test("a period has at most 92 days", async (t) => {
  const tooLong = { field: "since", problem: "must be at most 92 days before", other: "until" };
  const until = "2026-04-03T00:00:00Z";
  t.equal(read({ since: "2026-01-01T00:00:00Z", until }), "2026-01-01T00 2026-04-03T00 hour");
  t.same(read({ since: "2025-12-31T23:59:59.999Z", until }), tooLong);
  t.equal(read({ since: "2026-08-16T10:29:59Z" }), "2026-08-16T10 2026-11-16T11 hour");
  t.same(read({ since: "2026-08-16T10:28:00Z" }), tooLong);
});

t.test("wrong and extreme times are problems or empty periods", async (t) => {
  t.match(read({ since: "2026-11-02T00:00:00Z", until: "2026-11-01T00:00:00Z" }), { field: "since" });
  t.match(read({ since: "2026-12-31T23:59:60Z" }), { field: "since" });
  t.equal(read({ until: "0000-01-01T00:00:00Z" }), "1970-01-01T00 1970-01-01T00 hour");
  t.equal(read({ since: "9999-12-31T23:30:00Z" }), "9999-12-31T00 9999-12-31T00 hour");
});
