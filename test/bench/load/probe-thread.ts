/** A thread that sends one small request after another: on the thread of the load, its own work would be measured too. */
import { Agent, get } from "node:http";
import { parentPort, workerData } from "node:worker_threads";

const { url, headers } = workerData as { url: string; headers: Record<string, string> };
const agent = new Agent({ keepAlive: true });
const PAUSE_MS = 2;
const times: number[] = [];

function probe(): void {
  const startedAt = performance.now();
  get(url, { agent, headers }, (response) => {
    if (response.statusCode !== 200) throw new Error(`the probe got ${response.statusCode}`);
    response.resume().on("end", () => {
      if (times.length === 0) parentPort?.postMessage("ready");
      times.push(performance.now() - startedAt);
      setTimeout(probe, PAUSE_MS);
    });
  });
}

probe();
parentPort?.on("message", () => parentPort?.postMessage(times));
