import t from "tap";
import { SECOND } from "../../../src/runtime/durations.ts";
import { checkStreamCrashes } from "../../fixtures/events/stream-crashes.ts";

t.test("every one of 10,000 accepted events reaches a stream, whatever breaks", (t) =>
  checkStreamCrashes(t, {
    webhooks: 100,
    clocks: [-4 * SECOND, 60 * SECOND, 0, -4 * SECOND, 60 * SECOND],
  }),
);
