import type { Test } from "tap";
import { type RunningProcess, startProcess, startWeb } from "../../fixtures/processes/processes.ts";
import { until } from "../../fixtures/until.ts";

export type RunningWeb = Awaited<ReturnType<typeof startWeb>>;

export const KINDS = ["web", "dispatcher", "scheduler"] as const;

export type Kind = (typeof KINDS)[number];

/** The number of processes of each kind. */
export type Size = Record<Kind, number>;

export interface Member {
  kind: Kind;
  /** Such as `web 2`; a successor has the next number. */
  name: string;
  process: RunningProcess;
  /** Of a web process. */
  web?: RunningWeb;
  readyAt: number;
  /** The time of SIGTERM. */
  signalledAt?: number;
  stoppedAt?: number;
}

/** Processes of Herald that are started and stopped under load. */
export interface Deployment {
  /** All processes so far, also those that have stopped. */
  members(kind?: Kind): Member[];
  /** Those that have not exited. */
  running(kind: Kind): Member[];
  /** The addresses of the running web processes; another one is the first each time, as at a load balancer. */
  addresses(): string[];
  /** Starts a process, and resolves when it is ready for work. */
  start(kind: Kind): Promise<Member>;
  /** Starts processes of all kinds together until there are so many. */
  grow(size: Size): Promise<void>;
  /** Sends SIGTERM, waits for the exit and checks its code and duration. */
  stop(member: Member): Promise<void>;
  /** Stops processes of all kinds together, the oldest first, until only so many are left. */
  shrink(size: Size): Promise<void>;
}

/** The documented limit of an orderly shutdown. */
const MAX_SHUTDOWN_MS = 25_000;

export function createDeployment(t: Test, settings: Record<string, string>): Deployment {
  const all: Member[] = [];
  const started: Record<Kind, number> = { web: 0, dispatcher: 0, scheduler: 0 };
  let turn = 0;
  const members = (kind?: Kind) => all.filter((member) => kind === undefined || member.kind === kind);
  const running = (kind: Kind) => members(kind).filter(({ stoppedAt }) => stoppedAt === undefined);

  async function start(kind: Kind): Promise<Member> {
    const name = `${kind} ${++started[kind]}`;
    const member = { kind, name, ...(await startReady(t, kind, settings)), readyAt: Date.now() };
    all.push(member);
    return member;
  }

  async function stop(member: Member): Promise<void> {
    member.signalledAt = Date.now();
    const code = await member.process.stop();
    member.stoppedAt = Date.now();
    const ms = member.stoppedAt - member.signalledAt;
    t.equal(code, 0, `${member.name} exits with 0`);
    t.ok(ms <= MAX_SHUTDOWN_MS, `${member.name} stops within ${ms} ms`);
  }

  return {
    members,
    running,
    start,
    stop,
    async grow(size) {
      const missing = KINDS.flatMap((kind) => Array<Kind>(size[kind] - running(kind).length).fill(kind));
      await Promise.all(missing.map(start));
    },
    async shrink(size) {
      await Promise.all(
        KINDS.flatMap((kind) => running(kind).slice(0, running(kind).length - size[kind])).map(stop),
      );
    },
    addresses() {
      const addresses = running("web").flatMap(({ web }) => web?.address ?? []);
      turn += 1;
      return addresses.map((_, index) => addresses[(turn + index) % addresses.length] as string);
    },
  };
}

async function startReady(
  t: Test,
  kind: Kind,
  settings: Record<string, string>,
): Promise<Pick<Member, "process" | "web">> {
  if (kind !== "web") {
    const process = startProcess(t, kind, settings);
    await process.waitForLine("process.ready");
    return { process };
  }
  const web = await startWeb(t, settings);
  await until("the web process is ready", async () => (await fetch(`${web.address}/readyz`)).status === 200);
  return { process: web, web };
}
