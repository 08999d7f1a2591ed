import t from "tap";
import { openSockets, requestHead } from "../fixtures/hostile/raw-sockets.ts";
import { sharedHostileService } from "../fixtures/hostile/service.ts";
import { until } from "../fixtures/until.ts";

const UNKNOWN = ["100-continue-please, 100-continue", "100-continue-please", "100-continue, more"];

t.test("an expectation that only contains 100-continue is 417", async (t) => {
  const { address } = await sharedHostileService();
  for (const Expect of UNKNOWN) {
    const head = requestHead("POST /api/auth/login", { Expect, "Content-Length": "2" });
    const sockets = openSockets(t, address, [{ head: `${head}{}` }]);
    await until("the request is answered", async () => {
      const [report] = await sockets.reports();
      return report?.statuses.length || report?.closedAfterMs;
    });
    t.same(
      (await sockets.stop()).flatMap(({ statuses }) => statuses),
      [417],
      Expect,
    );
  }
});
