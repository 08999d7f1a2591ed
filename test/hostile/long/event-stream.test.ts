import t from "tap";
import { SECOND } from "../../../src/runtime/durations.ts";
import { checkStreamCrashes } from "../../fixtures/events/stream-crashes.ts";
import { checkPostgresCrashes } from "../../fixtures/events/stream-postgres-crashes.ts";

t.test("every one of 10,000 accepted events reaches a stream, whatever breaks", (t) =>
  checkStreamCrashes(t, {
    webhooks: 100,
    clocks: [-4 * SECOND, 60 * SECOND, 0, -4 * SECOND, 60 * SECOND],
  }),
);

t.test("every accepted event reaches each reader when Postgres crashes", (t) =>
  checkPostgresCrashes(t, { connections: 20, servers: 10 }),
);
