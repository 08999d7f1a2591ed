import t from "tap";
import { watchGrowthMib } from "../fixtures/hostile/process-state.ts";
import { openSockets, repeatPlan, type SocketPlan, tinyChunks } from "../fixtures/hostile/raw-sockets.ts";
import { sharedHostileService } from "../fixtures/hostile/service.ts";
import { MIB } from "../fixtures/images/images.ts";

/** A piece of one byte takes 300 bytes of memory when it is kept: each attack below would take 200 MiB or more. */
const MAX_GROWTH_MIB = 150;

/** Well-formed, so that only the body shows that it is wrong. */
const SIGNATURE = { "X-Hub-Signature-256": `sha256=${"a".repeat(64)}` };

const ATTACKS: [title: string, plans: SocketPlan[]][] = [
  ["one webhook of 4 MiB", [tinyChunks("POST /platform/webhook", 4 * MIB, SIGNATURE)]],
  ["60 sign-ins of 12 KiB", repeatPlan(60, tinyChunks("POST /api/auth/login", 12 * 1_024))],
];

t.test("bodies in chunks of one byte are refused and take little memory", async (t) => {
  const service = await sharedHostileService();
  for (const [title, plans] of ATTACKS) {
    const growthMib = watchGrowthMib(service.web.child.pid as number);
    const reports = await service.underProbes(t, title, async () => {
      const sockets = openSockets(t, service.address, plans);
      await sockets.ended();
      return sockets.stop();
    });
    const accepted = reports.filter(
      ({ statuses, closedAfterMs }) => statuses[0] !== 400 && closedAfterMs === undefined,
    );
    t.equal(accepted.length, 0, `${title}: each is answered with 400 or disconnected`);
    const grownMib = growthMib();
    t.ok(grownMib < MAX_GROWTH_MIB, `${title}: web grows by ${grownMib} MiB`);
  }
});
