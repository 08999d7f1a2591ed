import { appendFileSync } from "node:fs";
import t from "tap";
import { SECOND } from "../../src/runtime/durations.ts";
import { CASES } from "./cases/index.ts";
import { CASES_VARIABLE, RESULTS_VARIABLE } from "./frame/case.ts";

/** Without wake-ups, dispatchers poll several times a second. */
const MAX_PAUSE_MS = 3 * SECOND;

/** `npm run test:failover` names the cases and the file for their rows. */
const names = process.env[CASES_VARIABLE]?.split(",") ?? [];

for (const { name, run } of CASES.filter((each) => names.includes(each.name)))
  t.test(name, async (t) => {
    const measurement = await run(t);
    const { longestGapMs } = measurement;
    t.ok(longestGapMs <= MAX_PAUSE_MS, `deliveries pause for ${longestGapMs} ms at most`);
    if (t.passing())
      appendFileSync(
        process.env[RESULTS_VARIABLE] as string,
        `${JSON.stringify({ name, ...measurement })}\n`,
      );
  });
