import { createKey } from "../../../../src/domain/tenants/api-keys.ts";
import { DAY } from "../../../../src/runtime/durations.ts";
import { makeActor } from "../../../fixtures/tenants/actors.ts";
import type { BenchContext } from "../../frame/context.ts";
import { percentilesOf } from "../../load/percentiles.ts";

/** Reads through the API, whose times are measured in milliseconds. */
export interface Reads {
  eventsPage(): Promise<number>;
  messagesPage(): Promise<number>;
  /** The dry run of a retry of the failed and skipped events of 28 days. */
  dryRun(): Promise<number>;
}

const [PAGE_READS, DRY_RUNS] = [200, 5];
const [PAGE_SIZE, PERIOD_DAYS] = [25, 28];

/** Reads from web with a key of this client. */
export async function startReads(context: BenchContext, origin: string, clientId: string): Promise<Reads> {
  const { text: key } = await createKey(context.db, makeActor(clientId), {
    name: "bench",
    scopes: ["webhooks:manage", "messages:send"],
    expiresAt: null,
    production: false,
  });
  const headers = { "x-svc-api-key": key, "content-type": "application/json" };

  async function call(
    path: string,
    init: RequestInit,
    isExpected: (body: unknown) => boolean,
  ): Promise<number> {
    const startedAt = performance.now();
    const reply = await fetch(origin + path, { ...init, headers });
    const body = await reply.json();
    const ms = performance.now() - startedAt;
    if (!reply.ok || !isExpected(body))
      throw new Error(`${path} answered ${reply.status}: ${JSON.stringify(body)}`);
    return ms;
  }

  async function medianOf(count: number, read: () => Promise<number>): Promise<number> {
    const times: number[] = [];
    for (let index = 0; index < count; index++) times.push(await read());
    return percentilesOf(times).p50;
  }

  const isFullPage = (body: unknown) => (body as { data: unknown[] }).data.length === PAGE_SIZE;
  const readPage = (path: string) =>
    medianOf(context.count(PAGE_READS, 2), () => call(`${path}?limit=${PAGE_SIZE}`, {}, isFullPage));
  const since = () => new Date(Date.now() - PERIOD_DAYS * DAY).toISOString();
  const hasFailedEvents = (body: unknown) => (body as { queued: number }).queued > 0;
  return {
    eventsPage: () => readPage("/api/webhooks/events"),
    messagesPage: () => readPage("/api/outbound/messages"),
    dryRun: () =>
      medianOf(DRY_RUNS, () => {
        const body = JSON.stringify({ since: since(), dry_run: true });
        return call("/api/webhooks/events/retry", { method: "POST", body }, hasFailedEvents);
      }),
  };
}
