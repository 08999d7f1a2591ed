import type { BenchCase, Contestant, Variant } from "../frame/case.ts";
import type { BenchContext } from "../frame/context.ts";
import type { ArrivalTimes } from "../programs/arrivals.ts";
import { startReceiver } from "../programs/receiver.ts";
import { startBullmqSends } from "../systems/bullmq-sends.ts";
import { startHeraldSends } from "../systems/herald-sends.ts";
import { makeChannels, textsFor } from "../systems/send-system.ts";
import { backlogContestant, workOffBacklog } from "../systems/work-off-backlog.ts";

const [SLOTS, CHANNELS] = [200, 50];
/** Herald's default rate. A round has as many messages per channel as may go out at once: the rate does not limit it. */
const [DEFAULT_RATE, MESSAGES_PER_ROUND] = [80, 4_000];
/** Messages per second and channel where the rate is measured, and the seconds for which the messages last. */
const [LIMITED_RATE, LIMITED_SECONDS] = [5, 12];

async function startThroughput(context: BenchContext): Promise<Contestant[]> {
  const receiver = await startReceiver(context, "platform");
  const channels = await makeChannels(context, context.count(CHANNELS, 4));
  const options = { slots: SLOTS, perSecond: DEFAULT_RATE, platformPort: receiver.port };
  const systems = await Promise.all([
    startHeraldSends(context, options),
    startBullmqSends(context, { ...options, channels }),
  ]);
  const makeItems = () => textsFor(channels, context.count(MESSAGES_PER_ROUND, 20));
  return systems.map((system) => backlogContestant(system, { receiver, makeItems }));
}

/** Each channel's rate in percent of its limit. The first second's messages may go out at once, so they do not count. */
const ratesOf = (arrivals: ArrivalTimes): number[] =>
  arrivals.map(([, times]) => {
    const counted = times.slice(LIMITED_RATE);
    const seconds = ((counted.at(-1) ?? 0) - (counted[0] ?? 0)) / 1_000;
    return (100 * (counted.length - 1)) / seconds / LIMITED_RATE;
  });

async function startLimited(context: BenchContext): Promise<Contestant[]> {
  const receiver = await startReceiver(context, "platform");
  const channels = await makeChannels(context, CHANNELS);
  const options = { slots: SLOTS, perSecond: LIMITED_RATE, platformPort: receiver.port };
  const herald = await startHeraldSends(context, options);
  const perChannel = LIMITED_RATE * context.count(LIMITED_SECONDS, 1) + LIMITED_RATE + 1;
  const makeItems = () => textsFor(channels, perChannel * channels.length);
  return [
    {
      name: herald.name,
      async run() {
        const { sample, arrivals } = await workOffBacklog(herald, { receiver, makeItems });
        const rates = ratesOf(arrivals);
        return { ...sample, values: { lowest: Math.min(...rates), highest: Math.max(...rates) } };
      },
    },
  ];
}

const THROUGHPUT: Variant = {
  name: "50-channels",
  measures: [{ value: "rate", unit: "messages/s", better: "higher", targets: { bullmq: 1.3 } }],
  isInSmokeTest: true,
  start: startThroughput,
};

const LIMITED: Variant = {
  name: "channel-rate",
  measures: [
    { value: "lowest", suffix: "reached", unit: "% of the limit", better: "higher", limit: 98 },
    { value: "highest", suffix: "kept", unit: "% of the limit", better: "lower", limit: 102 },
  ],
  isInSmokeTest: false,
  start: startLimited,
};

/** Sends a backlog of messages to a platform that answers after 50 ms. */
export const SENDS: BenchCase = { name: "sends", variants: [THROUGHPUT, LIMITED] };
