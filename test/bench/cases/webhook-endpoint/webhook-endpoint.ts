import type { BenchCase, Variant } from "../../frame/case.ts";
import { type EndpointLoad, heraldContestant, PEERS, type PeerName, peerContestant } from "./contestants.ts";
import { openLoopContestant } from "./open-loop.ts";

interface EndpointVariant extends EndpointLoad {
  /** The least ratio beside express with one INSERT per update. */
  target: number;
  peers?: readonly PeerName[];
}

const ALL_PEERS = Object.keys(PEERS) as PeerName[];

const variant = ({ target, peers = ["express"], ...load }: EndpointVariant): Variant => ({
  name: String(load.updates),
  isInSmokeTest: peers.length > 1,
  measures: [{ value: "rate", unit: "updates/s", better: "higher", targets: { express: target } }],
  start: (context) =>
    Promise.all([
      heraldContestant(context, load),
      ...peers.map((name) => peerContestant(context, load, name)),
    ]),
});

const openLoop = (name: string, load: EndpointLoad, isInSmokeTest: boolean): Variant => ({
  name,
  isInSmokeTest,
  measures: [{ value: "p99", unit: "ms", better: "lower", limit: 100 }],
  start: async (context) => [await openLoopContestant(context, load)],
});

/** Receiving the platform's webhooks: POST /platform/webhook, answered after every update is committed. */
export const WEBHOOK_ENDPOINT: BenchCase = {
  name: "webhook-endpoint",
  variants: [
    variant({ updates: 1, callers: 64, bodies: 8_000, target: 1 }),
    variant({ updates: 10, callers: 64, bodies: 1_500, target: 2 }),
    variant({ updates: 100, callers: 32, bodies: 150, target: 3, peers: ALL_PEERS }),
    variant({ updates: 1_000, callers: 8, bodies: 16, target: 3 }),
    openLoop("open-loop", { updates: 1, callers: 64, bodies: 4_000 }, true),
    openLoop("open-loop-100", { updates: 100, callers: 32, bodies: 150 }, false),
  ],
};
