import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import { REDIS } from "../../../src/local/programs.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { FailoverCase, Measurement } from "../frame/case.ts";
import { describeFailures, startClientRequests } from "../frame/client-requests.ts";
import { CRON_SETTINGS, checkCronRuns, countRuns } from "../frame/cron-runs.ts";
import { KINDS, type Member, type Size } from "../frame/deployment.ts";
import type { AddedMessages } from "../frame/load.ts";
import { type LoadedDeployment, RATE_PER_SECOND, startLoadedDeployment } from "../frame/loaded-deployment.ts";
import { checkVisibleChanges } from "../frame/visible-changes.ts";

/** Processes come and go under load; the servers work. */

const LOAD = {
  settings: CRON_SETTINGS,
  ...{ clients: 20, channels: 6, perSecond: 300, backlog: 25 * RATE_PER_SECOND },
};

/** Waits until everything is delivered and sent, stops all processes, and checks what every case demands. */
async function finish(
  t: Test,
  { population, deployment, ...loaded }: LoadedDeployment,
  added?: AddedMessages,
): Promise<Measurement> {
  const result = await loaded.finish(0, added);
  await deployment.shrink(NONE);
  await checkCronRuns(t, population.db, deployment.members("scheduler"));
  for (const { name, process } of deployment.members())
    t.same(
      process.lines().filter(({ level }) => level === "error"),
      [],
      `${name} logs no error`,
    );
  return { ...result, recovery: null };
}

const NONE: Size = { web: 0, dispatcher: 0, scheduler: 0 };
const SMALL: Size = { web: 1, dispatcher: 1, scheduler: 1 };
const LARGE: Size = { web: 3, dispatcher: 3, scheduler: 2 };
const MEDIUM: Size = { web: 2, dispatcher: 2, scheduler: 1 };

async function scale(t: Test): Promise<Measurement> {
  const loaded = await startLoadedDeployment(t, { ...LOAD, size: SMALL });
  const { population, deployment } = loaded;
  await sleep(4 * SECOND);
  await deployment.grow(LARGE);
  const from = Date.now();
  const webs = deployment.running("web").flatMap(({ web }) => web ?? []);
  await Promise.all([checkVisibleChanges(t, population, webs), sleep(10 * SECOND)]);
  const bothUp = { from, to: Date.now() };
  await deployment.shrink(MEDIUM);
  await sleep(5 * SECOND);
  const measurement = await finish(t, loaded);
  for (const scheduler of deployment.members("scheduler"))
    t.ok(countRuns(scheduler, bothUp) > 0, `${scheduler.name} runs jobs: ${countRuns(scheduler, bothUp)}`);
  for (const dispatcher of deployment.members("dispatcher")) checkWork(t, dispatcher);
  return measurement;
}

function checkWork(t: Test, { name, process }: Member): void {
  const outcomes = process.lines().map(({ event, outcome }) => `${event} ${outcome}`);
  for (const done of ["delivery.attempted delivered", "message.sent accepted"]) {
    const count = outcomes.filter((outcome) => outcome === done).length;
    t.ok(count > 0, `${name}: ${done} ${count} times`);
  }
}

async function restart(t: Test): Promise<Measurement> {
  const loaded = await startLoadedDeployment(t, { ...LOAD, size: LARGE });
  const { population, deployment } = loaded;
  const requests = await startClientRequests(population, deployment);
  await sleep(4 * SECOND);
  for (const kind of KINDS)
    for (const member of deployment.running(kind)) {
      await deployment.start(kind);
      await deployment.stop(member);
    }
  await requests.stop();
  const counts = `${requests.succeeded()} requests, ${requests.refused()} refused connections`;
  t.same(describeFailures(requests, deployment), [], counts);
  return finish(t, loaded, requests.added);
}

const ENGINE = { engine: "3 web, 3 dispatchers, 2 schedulers", program: REDIS };

export const PROCESS_CASES: readonly FailoverCase[] = [
  {
    name: "processes/scaled",
    ...ENGINE,
    fault: "scaled from one process of each kind to these, then to 2, 2 and 1",
    run: scale,
  },
  {
    name: "processes/rolling-restart",
    ...ENGINE,
    fault: "every process is replaced, one after the other",
    run: restart,
  },
];
