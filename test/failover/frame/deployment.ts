import type { Test } from "tap";
import { type RunningProcess, startProcess, startWeb } from "../../fixtures/processes/processes.ts";

export interface Deployment {
  webs: Awaited<ReturnType<typeof startWeb>>[];
  dispatchers: RunningProcess[];
}

interface DeploymentSize {
  webs: number;
  dispatchers: number;
}

/** Starts processes of Herald with the same settings, and waits until they are ready. */
export async function startDeployment(
  t: Test,
  settings: Record<string, string>,
  size: DeploymentSize,
): Promise<Deployment> {
  const dispatchers = Array.from({ length: size.dispatchers }, () => startProcess(t, "dispatcher", settings));
  const webs = await Promise.all(Array.from({ length: size.webs }, () => startWeb(t, settings)));
  for (const dispatcher of dispatchers) await dispatcher.waitForLine("process.ready");
  return { webs, dispatchers };
}
