import t from "tap";
import { checkEventFlow } from "../fixtures/events/event-flow.ts";
import { startLocalCluster } from "../fixtures/processes/local-cluster.ts";

// test/e2e/cluster/deno.test.ts checks the same under Deno.
t.test("a received message is in the event history and in the inbox", async (t) =>
  checkEventFlow(t, await startLocalCluster(t)),
);
