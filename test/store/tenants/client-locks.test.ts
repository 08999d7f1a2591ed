import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import { createStreams } from "../../../src/queue/streams.ts";
import { MINUTE } from "../../../src/runtime/durations.ts";
import { claimDeliveries } from "../../../src/store/events/claim-deliveries.ts";
import type { DeliveryRef } from "../../../src/store/events/delivery-refs.ts";
import { finishDeliveries } from "../../../src/store/events/finish-deliveries.ts";
import { unmarkQueued } from "../../../src/store/events/sweep-deliveries.ts";
import {
  claimSends,
  markSending,
  type SendRef,
  unmarkQueuedSends,
} from "../../../src/store/messages/claim-sends.ts";
import { ClientsBeingDeleted, lockClients } from "../../../src/store/tenants/client-locks.ts";
import { sweepSends } from "../../../workers/dispatcher/sending/sweeper.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { configureWebhook } from "../../fixtures/events/events.ts";
import { finishOf, insertDueDeliveries } from "../../fixtures/events/queue-rows.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { insertMessage, insertSend } from "../../fixtures/messages/message-rows.ts";
import { connectRedis } from "../../fixtures/servers/redis.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { holdDeletion } from "../../fixtures/tenants/client-deletion.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";

const LEASE = { token: randomUUID(), worker: "wrk_1" };

/** Two clients; `hold` deletes the first one and keeps the transaction open. */
async function open(t: Test) {
  const api = await startApi(t);
  const tenants = [await makeTenant(api), await makeTenant(api)] as const;
  const channels = await Promise.all(tenants.map((tenant) => makeChannel(api, tenant)));
  for (const tenant of tenants) await configureWebhook(api, tenant);
  return {
    ...api,
    tenants,
    hold: () => holdDeletion(t, api.config, tenants[0]),
    /** Inserts a send of each client. */
    insertSends: (columns: Record<string, unknown> = {}): Promise<SendRef[]> =>
      Promise.all(
        tenants.map(async (tenant, index) => {
          const channelId = channels[index] as string;
          const id = await insertMessage(api, tenant, { channel_id: channelId });
          await insertSend(api, tenant, { id, channel_id: channelId, ...columns });
          return { clientId: tenant.id, id, channelId };
        }),
      ),
    /** Inserts a due delivery of each client. */
    insertDeliveries: async (): Promise<DeliveryRef[]> =>
      (
        await Promise.all(tenants.map(({ id }) => insertDueDeliveries({ db: api.db, clientId: id }, 1)))
      ).flat(),
  };
}

type Context = Awaited<ReturnType<typeof open>>;

const sortedIds = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).sort();

/** For each row, true when it is marked as not enqueued. */
const areUnmarked = async (
  { db }: Context,
  table: "sends" | "deliveries",
  refs: readonly { id: string }[],
) => {
  const rows = await db.query<{ id: string; enqueued_at: Date | null }>(
    `select id, enqueued_at from ${table} where id = any($1)`,
    [refs.map(({ id }) => id)],
  );
  return refs.map((ref) => rows.find(({ id }) => id === ref.id)?.enqueued_at === null);
};

const ENQUEUED = { enqueued_at: new Date(), queue_epoch: "e" };

t.test("claims skip a client that is being deleted and do not wait for it", async (t) => {
  const context = await open(t);
  const [sends, deliveries] = [await context.insertSends(), await context.insertDeliveries()];
  const end = await context.hold();
  t.same(sortedIds(await claimSends(context.db, sends, LEASE)), [sends[1]?.id]);
  t.same(sortedIds(await claimDeliveries(context.db, deliveries, LEASE)), [deliveries[1]?.id]);
  await end("rollback");
  t.same(sortedIds(await claimSends(context.db, sends, LEASE)), sortedIds(sends));
  t.same(sortedIds(await claimDeliveries(context.db, deliveries, LEASE)), sortedIds(deliveries));
});

t.test(
  "finished deliveries and marks of a client that is being deleted are reported as blocked",
  async (t) => {
    const context = await open(t);
    const [sends, deliveries] = [await context.insertSends(), await context.insertDeliveries()];
    await claimSends(context.db, sends, LEASE);
    await claimDeliveries(context.db, deliveries, LEASE);
    const mark = () =>
      markSending(
        context.db,
        sends.map(({ clientId, id }) => ({
          ...{ client_id: clientId, id, lease: LEASE.token },
          ...{ parts_sent: 0, platform_message_id: null },
        })),
      );
    const finish = () =>
      finishDeliveries(
        context.db,
        deliveries.map((ref) => finishOf(ref, LEASE)),
      );
    const end = await context.hold();
    t.same(await mark(), { written: [sends[1]?.id], blocked: [sends[0]?.id] });
    t.same(await finish(), { written: [deliveries[1]?.id], blocked: [deliveries[0]?.id] });
    await end("commit");
    t.same(await mark(), { written: [sends[1]?.id], blocked: [] });
    t.same(await finish(), { written: [], blocked: [] });
  },
);

t.test("rows of a client that is being deleted stay marked as enqueued", async (t) => {
  const context = await open(t);
  const [sends, deliveries] = [await context.insertSends(ENQUEUED), await context.insertDeliveries()];
  await context.db.query("update deliveries set enqueued_at = now(), queue_epoch = 'e'");
  const end = await context.hold();
  await unmarkQueuedSends(context.db, sends);
  await unmarkQueued(context.db, deliveries);
  await end("rollback");
  t.same(await areUnmarked(context, "sends", sends), [false, true]);
  t.same(await areUnmarked(context, "deliveries", deliveries), [false, true]);
});

t.test("the sweep of sends settles and recovers those of other clients only", async (t) => {
  const context = await open(t);
  const expiredLease = {
    ...{ state: "in_hand", worker_id: "wrk_dead", lease: randomUUID() },
    claimed_at: new Date(Date.now() - MINUTE),
  };
  const expired = await context.insertSends({ expires_at: new Date(Date.now() - 1) });
  const unstarted = await context.insertSends(expiredLease);
  const started = await context.insertSends({ ...expiredLease, sending_at: new Date() });
  const streams = createStreams(await connectRedis(t), 1);
  const sweep = () =>
    sweepSends({
      ...{ db: context.db, streams, log: captureLog().log, aliveForMs: () => MINUTE },
      ...{ unknownTimeoutMs: MINUTE, onAbandoned: () => {} },
      queues: { fullChannels: async () => [] },
      availability: { pausedPlatforms: () => [] },
      notifier: { epoch: () => null, notify: () => {} },
    });
  const statesOf = async (refs: readonly SendRef[]) => {
    const rows = await context.db.query<{ id: string; state: string }>("select id, state from sends");
    return refs.map((ref) => rows.find(({ id }) => id === ref.id)?.state);
  };
  const end = await context.hold();
  await sweep();
  await end("rollback");
  t.same(await statesOf(expired), ["waiting", undefined]);
  t.same(await statesOf(unstarted), ["in_hand", "waiting"]);
  t.same(await statesOf(started), ["in_hand", "unknown"]);
  await sweep();
  t.same(await statesOf(expired), [undefined, undefined]);
  t.same(await statesOf(unstarted), ["waiting", "waiting"]);
  t.same(await statesOf(started), ["unknown", "unknown"]);
});

t.test("locking clients fails for one that is being deleted and ignores one that is deleted", async (t) => {
  const { db, tenants, hold } = await open(t);
  const ids = tenants.map(({ id }) => id);
  const end = await hold();
  await t.rejects(lockClients(db, ids), new ClientsBeingDeleted([ids[0] as string]));
  await end("commit");
  await t.resolves(lockClients(db, ids));
});
