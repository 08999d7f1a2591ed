import t from "tap";
import { SECOND } from "../../../src/runtime/durations.ts";
import { checkStreamCrashes } from "../../fixtures/events/stream-crashes.ts";

/** test/hostile/long/event-stream.test.ts sends five times as many events. */
t.test("every accepted event reaches a stream, whatever breaks", (t) =>
  checkStreamCrashes(t, { webhooks: 20, clocks: [-4 * SECOND, 60 * SECOND] }),
);
