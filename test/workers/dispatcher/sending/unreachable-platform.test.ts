import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import {
  answerAccepted,
  platformSettings,
  queueMessages,
  startSendingContext,
} from "../../../fixtures/messages/sending-context.ts";
import { until } from "../../../fixtures/until.ts";

t.test(
  "while a platform refuses connections its messages wait without attempts, and go out later",
  async (t) => {
    const platform = createServer((_, response) => answerAccepted(response, "wamid.1"));
    await once(platform.listen(0, "127.0.0.1"), "listening");
    const { port } = platform.address() as AddressInfo;
    const settings = {
      ...platformSettings({ url: `http://127.0.0.1:${port}` }),
      DISPATCHER_CONCURRENCY: "4",
    };
    platform.close();
    const context = await startSendingContext(t, { settings });
    const messages = Array.from({ length: 40 }, (_, index) => ({ to: `55119200000${index + 100}` }));
    await queueMessages(context, context, ...messages);
    const logged = (name: string) => context.lines.filter(({ event }) => event === name).length;
    await until("the platform is unreachable", () => logged("platform.unreachable") === 1);
    const pauseEnd = Date.now() + 900;
    await until("the pause is over", () => Date.now() > pauseEnd);
    const before = logged("message.sent");
    await until("one message tries the platform again", () => logged("message.sent") > before);
    t.ok(logged("message.sent") < 20, "most messages were not attempted");
    t.teardown(() => platform.close());
    await once(platform.listen(port, "127.0.0.1"), "listening");
    const waiting = "select 1 from sends where attempts = 0";
    await until("those that waited are sent", async () => (await context.db.query(waiting)).length === 0);
    t.equal(logged("platform.recovered"), 1);
    const accepted = await context.db.query<{ attempts: number }>(
      "select attempts from messages where status = 'accepted'",
    );
    t.ok(accepted.length > 20);
    t.ok(accepted.filter(({ attempts }) => attempts === 1).length > 20, "the wait used up no attempt");
  },
);
