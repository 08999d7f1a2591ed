import "reflect-metadata";
import { container } from "tsyringe";
import { registerShared } from "../../../src/composition/process.ts";
import {
  DATABASE,
  EVENT_NOTIFIER,
  MESSAGE_NOTIFIER,
  REDIS,
  resolve,
} from "../../../src/composition/tokens.ts";
import { awaitConnection } from "../../../src/queue/redis.ts";
import type { BenchContext } from "../frame/context.ts";

export type HeraldProducer = Awaited<ReturnType<typeof openProducer>>;

/** Opens the parts with which web records and enqueues, in this process. */
export async function openProducer({ config, teardown }: BenchContext) {
  const parts = container.createChildContainer();
  registerShared(parts, { ...config, LOG_LEVEL: "warn" }, "bench");
  const [db, redis] = [resolve(parts, DATABASE), resolve(parts, REDIS)];
  const notifiers = [resolve(parts, EVENT_NOTIFIER), resolve(parts, MESSAGE_NOTIFIER)] as const;
  await awaitConnection(redis, 5_000);
  for (const notifier of notifiers) await notifier.start?.({ fail: () => {} });
  teardown(async () => {
    for (const notifier of notifiers) await notifier.close?.();
    redis.disconnect();
    await db.close();
  });
  return { db, events: notifiers[0], messages: notifiers[1] };
}
