import type { QueueNotifier } from "../../queue/queue-notifier.ts";
import { ApiError } from "../../runtime/errors.ts";
import type { Database } from "../../store/database/database.ts";
import { DatabaseUnavailable } from "../../store/database/faults.ts";
import {
  acceptMessages,
  findObstacles,
  type NewMessage,
  type Obstacle,
} from "../../store/messages/accept-messages.ts";
import type { SendRef } from "../../store/messages/claim-sends.ts";
import type { KnownKey } from "../../store/tenants/idempotency-keys.ts";

/** What became of a message that was to be sent. */
export type Acceptance =
  | { outcome: "accepted" }
  /** Its operation was done before, or another by the same name. */
  | { outcome: "known"; key: KnownKey }
  | { outcome: "not_connected"; status: string }
  | { outcome: "no_channel" };

export interface Intake {
  /** Answers once it is written down for good. No two may come with the same key at once. */
  accept(message: NewMessage): Promise<Acceptance>;
}

interface Waiting {
  message: NewMessage;
  tries: number;
  resolve(acceptance: Acceptance): void;
  reject(error: unknown): void;
}

/** Statements under way: while they wait for the disk, the next ones gather. */
const AT_ONCE = 2;
const MOST_ROWS = 200;
const MOST_CHARACTERS = 1_000_000;
/** More would wait longer than anybody does. */
const MOST_WAITING = 10_000;
const MOST_TRIES = 3;

/** Messages that come at the same time are written down by one statement: the database's commits are what limits us. */
export function createIntake({ db, doorbell }: { db: Database; doorbell: QueueNotifier<SendRef> }): Intake {
  let waiting: Waiting[] = [];
  let atWork = 0;
  let isPlanned = false;

  /** After all that came in this turn of the loop. */
  function plan(): void {
    if (isPlanned || atWork === AT_ONCE || waiting.length === 0) return;
    isPlanned = true;
    setImmediate(begin);
  }

  function begin(): void {
    isPlanned = false;
    while (waiting.length > 0 && atWork < AT_ONCE) {
      const size = batchSize(waiting);
      const batch = waiting.slice(0, size);
      waiting = waiting.slice(size);
      atWork += 1;
      void settle(batch).finally(() => {
        atWork -= 1;
        plan();
      });
    }
  }

  function enter(one: Waiting): void {
    waiting.push(one);
    plan();
  }

  async function settle(batch: readonly Waiting[]): Promise<void> {
    try {
      const refused = await write(batch);
      if (refused.length > 0) await explain(refused).catch((error) => rejectAll(refused, error));
    } catch (error) {
      await settleSingly(batch, error);
    }
  }

  /** One that cannot be written must not keep its neighbours from it. What was lost with the connection may be written already. */
  async function settleSingly(batch: readonly Waiting[], error: unknown): Promise<void> {
    if (batch.length === 1 || error instanceof DatabaseUnavailable) rejectAll(batch, error);
    else for (const one of batch) await settle([one]);
  }

  /** Answers those that were not accepted. */
  async function write(batch: readonly Waiting[]): Promise<Waiting[]> {
    const epoch = doorbell.epoch();
    const messages = batch.map(({ message }) => message);
    const accepted = await acceptMessages(db, messages, epoch);
    if (epoch !== null) doorbell.notify(refsOf(messages, accepted));
    return batch.filter(({ message, resolve }) => {
      if (accepted.has(message.id)) resolve({ outcome: "accepted" });
      return !accepted.has(message.id);
    });
  }

  async function explain(refused: readonly Waiting[]): Promise<void> {
    const messages = refused.map(({ message }) => message);
    const obstacles = new Map((await findObstacles(db, messages)).map((obstacle) => [obstacle.id, obstacle]));
    for (const one of refused) {
      const acceptance = toAcceptance(obstacles.get(one.message.id));
      if (acceptance) one.resolve(acceptance);
      else if (one.tries < MOST_TRIES) enter({ ...one, tries: one.tries + 1 });
      else one.reject(notNow());
    }
  }

  return {
    accept: (message) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= MOST_WAITING) throw overloaded();
        enter({ message, tries: 1, resolve, reject });
      }),
  };
}

const rejectAll = (batch: readonly Waiting[], error: unknown) => {
  for (const { reject } of batch) reject(error);
};

/** Its client is being erased, or its channel comes and goes. */
const notNow = () =>
  new ApiError("temporarily_unavailable", "The message cannot be taken at this moment, please try again");

const overloaded = () =>
  new ApiError("overloaded", "There is too much to do at this moment, please try again");

/** As many as one statement takes, one at least. */
function batchSize(waiting: readonly Waiting[]): number {
  let [size, characters] = [0, 0];
  for (const { message } of waiting) {
    characters += message.content.length;
    if (size === MOST_ROWS || (size > 0 && characters > MOST_CHARACTERS)) break;
    size += 1;
  }
  return size;
}

const refsOf = (messages: readonly NewMessage[], accepted: ReadonlyMap<string, boolean>) =>
  messages
    .filter(({ id }) => accepted.get(id))
    .map(({ client_id, id, channel_id }): SendRef => ({ clientId: client_id, id, channelId: channel_id }));

/** Undefined where nothing stands in its way any more. */
function toAcceptance(obstacle: Obstacle | undefined): Acceptance | undefined {
  const { fingerprint = null, reply_sealed = null, channel_status: status = null } = obstacle ?? {};
  if (fingerprint !== null && reply_sealed !== null)
    return { outcome: "known", key: { fingerprint, reply_sealed } };
  if (status === null) return { outcome: "no_channel" };
  return status === "connected" ? undefined : { outcome: "not_connected", status };
}
