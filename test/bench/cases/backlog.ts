import { firstIdAt } from "../../../src/runtime/ids.ts";
import type { BenchCase, Contestant } from "../frame/case.ts";
import type { BenchContext } from "../frame/context.ts";
import { type Receiver, startReceiver } from "../programs/receiver.ts";
import { clientIdsOf, makeDestinations } from "../systems/destinations.ts";
import { draftsFor } from "../systems/drafts.ts";
import { startHeraldEvents } from "../systems/herald-events.ts";
import { openContextBeside } from "../systems/second-context.ts";
import { makeChannels } from "../systems/send-system.ts";
import { workOffBacklog } from "../systems/work-off-backlog.ts";

const [SLOTS, DESTINATIONS, EVENTS_PER_ROUND] = [200, 20, 5_000];
const [WAITING_SENDS, CHANNELS] = [100_000, 50];
/** Nothing listens on this port: every connection is refused. */
const AWAY_PLATFORM = { CHAT_PLATFORM_URL: "http://127.0.0.1:9/v26.0" };

const INSERT_MESSAGES = `
  insert into messages (client_id, id, channel_id, platform, recipient, recipient_kind, type, content)
  select client_id, id, channel_id, 'chatapp', recipient, 'phone', 'text', '{"body":"Hi"}'
  from waiting`;

/** Inserts messages to different people that wait. */
const INSERT_SENDS = `
  with waiting as (
    select
      ($1::uuid[])[1 + n % cardinality($1::uuid[])] as client_id,
      ($2::text[])[1 + n % cardinality($1::uuid[])] as channel_id,
      $3 || lpad(n::text, 16, '0') as id,
      '55119' || lpad(n::text, 8, '0') as recipient
    from generate_series(1, $4::integer) as n
  ),
  stored as (${INSERT_MESSAGES})
  insert into sends (client_id, id, channel_id, recipient, expires_at)
  select client_id, id, channel_id, recipient, now() + interval '1 day'
  from waiting`;

async function insertWaitingSends(context: BenchContext): Promise<void> {
  const channels = await makeChannels(context, context.count(CHANNELS, 2));
  await context.db.query(INSERT_SENDS, [
    channels.map(({ clientId }) => clientId),
    channels.map(({ id }) => id),
    firstIdAt("msg", Date.now()),
    context.count(WAITING_SENDS, 20),
  ]);
}

/** The dispatcher is suspended between its rounds, because its attempts to send would slow the other contestant. */
async function startContestant(context: BenchContext, receiver: Receiver, name: string): Promise<Contestant> {
  const destinations = await makeDestinations(
    context,
    receiver,
    Array(context.isSmokeTest ? 2 : DESTINATIONS).fill("ok"),
  );
  const system = await startHeraldEvents(context, { slots: SLOTS, name, settings: AWAY_PLATFORM });
  const makeItems = () => draftsFor(clientIdsOf(destinations), context.count(EVENTS_PER_ROUND, 40));
  context.teardown(system.resume); // a suspended process does not obey SIGTERM
  system.suspend();
  return {
    name,
    run: async () => (await workOffBacklog(system, { receiver, makeItems }).finally(system.suspend)).sample,
  };
}

/** Event delivery while 100,000 messages wait for a platform that refuses connections, beside an empty queue of sends. */
export const BACKLOG: BenchCase = {
  name: "backlog",
  variants: [
    {
      name: "100000-sends",
      measures: [{ value: "rate", unit: "events/s", better: "higher", targets: { "without-backlog": 0.9 } }],
      isInSmokeTest: true,
      async start(context) {
        const receiver = await startReceiver(context, "backend");
        const beside = await openContextBeside(context);
        await insertWaitingSends(context);
        return Promise.all([
          startContestant(context, receiver, "herald"),
          startContestant(beside, receiver, "without-backlog"),
        ]);
      },
    },
  ],
};
