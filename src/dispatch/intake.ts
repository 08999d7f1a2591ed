import { ApiError } from "../runtime/errors.ts";
import { acceptMessages, findObstacles, type NewMessage, type Obstacle } from "../store/accept-messages.ts";
import type { Database } from "../store/database.ts";
import { DatabaseUnavailable } from "../store/faults.ts";
import type { KnownKey } from "../store/idempotency-keys.ts";
import type { Doorbell } from "./queue/doorbell.ts";

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
/** Who waits longer than these would has given up. */
const MOST_WAITING = 10_000;
const MOST_TRIES = 3;

/** Messages that come at the same time are written down by one statement: the database's commits are what limits us. */
export function createIntake({ db, doorbell }: { db: Database; doorbell: Doorbell }): Intake {
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

  /** One that cannot be written must not keep its neighbours from it. */
  async function settle(batch: readonly Waiting[]): Promise<void> {
    try {
      await write(batch);
    } catch (error) {
      if (batch.length > 1 && !(error instanceof DatabaseUnavailable))
        for (const one of batch) await settle([one]);
      else for (const { reject } of batch) reject(error);
    }
  }

  async function write(batch: readonly Waiting[]): Promise<void> {
    const epoch = doorbell.epoch();
    const messages = batch.map(({ message }) => message);
    const accepted = await acceptMessages(db, messages, epoch);
    if (epoch !== null) doorbell.ring(refsOf(messages, accepted));
    for (const { message, resolve } of batch) if (accepted.has(message.id)) resolve({ outcome: "accepted" });
    if (accepted.size < batch.length) await explain(batch.filter(({ message }) => !accepted.has(message.id)));
  }

  async function explain(refused: readonly Waiting[]): Promise<void> {
    const obstacles = await findObstacles(
      db,
      refused.map(({ message }) => message),
    );
    const byId = new Map(obstacles.map((obstacle) => [obstacle.id, obstacle]));
    for (const one of refused) {
      const acceptance = toAcceptance(byId.get(one.message.id));
      if (acceptance) one.resolve(acceptance);
      else if (one.tries < MOST_TRIES) enter({ ...one, tries: one.tries + 1 });
      else one.reject(new Error("a message is refused again and again, and nothing stands in its way"));
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

const refsOf = (messages: readonly NewMessage[], accepted: ReadonlySet<string>) =>
  messages.filter(({ id }) => accepted.has(id)).map(({ client_id, id }) => ({ clientId: client_id, id }));

/** Undefined where nothing stands in its way any more. */
function toAcceptance(obstacle: Obstacle | undefined): Acceptance | undefined {
  const { fingerprint = null, reply_sealed = null, channel_status: status = null } = obstacle ?? {};
  if (fingerprint !== null && reply_sealed !== null)
    return { outcome: "known", key: { fingerprint, reply_sealed } };
  if (status === null) return { outcome: "no_channel" };
  return status === "connected" ? undefined : { outcome: "not_connected", status };
}
