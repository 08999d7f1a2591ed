import t from "tap";
import { startTogether, type Together } from "../../fixtures/processes/local-cluster.ts";
import { until } from "../../fixtures/until.ts";

/** Messages that the platforms were asked to send to this person. */
const sendsTo = async ({ requests }: Together, to: string): Promise<number> =>
  (await requests()).filter(({ path, body }) => path.endsWith("/messages") && body?.to === to).length;

t.test("a dispatcher dies over messages", async (t) => {
  const together = await startTogether(t, {
    extra: { CHANNEL_RATE_PER_SECOND: "1", SEND_UNKNOWN_SECONDS: "2" },
  });
  const { api, arm } = together;
  const channels = (await api("GET", "/api/channels?platform=chatapp")).body.data;
  const say = async (to: string) => {
    const body = { channel_id: channels[0].channel_id, to, type: "text", text: { body: "Hi" } };
    const { status, body: queued } = await api("POST", "/api/outbound/send", body);
    t.equal(status, 202);
    return queued.message_id as string;
  };
  const read = async (id: string) => (await api("GET", `/api/outbound/messages/${id}`)).body;
  const untilStatus = (id: string, ...wanted: string[]) =>
    until(
      `${id} is ${wanted}`,
      async () => {
        const message = await read(id);
        return wanted.includes(message.status) ? message : undefined;
      },
      60_000,
    );

  const people = ["5511911110001", "5511911110002", "5511911110003"] as const;
  const written = "5511922220001";

  // The first goes out and is never answered; the others wait for their turn, one a second, and are not begun.
  await arm({
    match: { method: "POST", path_prefix: "/v26.0/1400000000000301/messages" },
    kind: "delay",
    times: 1,
    ms: 4_000,
  });
  const doubted = await say(written);
  await until("the first is out", async () => (await sendsTo(together, written)) === 1);
  const waiting = await Promise.all(people.map(say));
  await together.dispatcher.stop("SIGKILL");
  for (const id of waiting) t.match((await read(id)).status, /queued|sending|sent|accepted/);
  await together.startDispatcher();

  for (const [index, id] of waiting.entries()) {
    const message = await untilStatus(id, "delivered", "read");
    t.equal(await sendsTo(together, people[index] as string), 1, "sent once");
    t.equal(message.error, null);
  }
  const resolved = await untilStatus(doubted, "delivered", "read");
  t.equal(await sendsTo(together, written), 1, "what was written is not sent again: the webhook tells of it");
  t.match(resolved.statuses.map(({ status }: { status: string }) => status).at(-1), /delivered|read/);

  // The platform takes a message and says nothing of it, then or later.
  await arm({
    match: { method: "POST", path_prefix: "/v26.0/1400000000000301/messages" },
    kind: "drop_before",
    times: 1,
  });
  const lost = await say("5511922220002");
  const failed = await untilStatus(lost, "failed");
  t.match(failed.error, { code: "outcome_unknown" });
  t.equal(await sendsTo(together, "5511922220002"), 1);
});
