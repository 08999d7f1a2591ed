import { connect, type Socket } from "node:net";
import t from "tap";
import { startBackend } from "../fixtures/events/backends.ts";
import { configureWebhook, makeEvents } from "../fixtures/events/events.ts";
import { sharedHostileService } from "../fixtures/hostile/service.ts";
import { postWebhook } from "../fixtures/platforms/webhooks.ts";
import { makeChannel, newPlatformId } from "../fixtures/tenants/channels.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const UPDATES = 1_000;

/** A webhook of 3 MB. */
const largeWebhook = (pageId: string, name: string) =>
  JSON.stringify({
    object: "page",
    entry: Array.from({ length: UPDATES }, (_, index) => ({
      id: pageId,
      messaging: [{ sender: { id: "9" }, message: { mid: `${name}_${index}`, text: "x".repeat(2_900) } }],
    })),
  });

const TOKENS = [
  `${"\\".repeat(30)}a`,
  `${"-".repeat(24)}x`,
  `${"%25".repeat(80)}x`,
  `${"&#45;".repeat(50)}x`,
  "a".repeat(256),
];

const ANSWERS = ["\\", "-", "%25", "&#45;", "&amp;", "a"].flatMap((text) => [
  text.repeat(80),
  text.repeat(Math.floor(60_000 / text.length)),
]);

/** The dispatcher gets each answer for each token; it shares the code that reads them with the test of a webhook. */
const TESTS_PER_TOKEN = 3;

/** Beginnings of requests that never end; each is followed by one byte now and then. */
const BEGINNINGS = [
  "",
  "GET /api/channels HTTP/1.1\r\nHost: x\r\n",
  "POST /platform/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n{",
  "POST /platform/webhook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n100\r\n{",
  "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 16000\r\n\r\n{",
  "POST /api/outbound/send HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{",
];

const CONNECTIONS = 200;

t.test("hostile connections, webhooks and tokens", async (t) => {
  const service = await sharedHostileService();

  t.test("webhooks with a thousand updates delay no other request and lose none", async (t) => {
    const [tenant, pageId] = [await makeTenant(service), newPlatformId()];
    await makeChannel(service, tenant, { platform: "socialapp", pageId });
    const webhooks = ["a", "b"].map((name) => largeWebhook(pageId, name));
    const statuses = await service.underProbes(t, "two webhooks of 3 MB", () =>
      Promise.all(webhooks.map((webhook) => postWebhook(service.address, webhook))),
    );
    t.same(statuses, [200, 200]);
    const [row] = await service.db.query<{ count: number }>(
      "select count(*)::integer as count from events where client_id = $1",
      [tenant.id],
    );
    t.equal(row?.count, 2 * UPDATES);
  });

  t.test("a signed webhook with too many values is refused without delay", async (t) => {
    const webhook = (values: number) => `{"object":"page","entry":[${"[],".repeat(values - 5)}[]]}`;
    const statuses = await service.underProbes(t, "a dense webhook", () =>
      Promise.all([499_990, 600_000].map((values) => postWebhook(service.address, webhook(values)))),
    );
    t.same(statuses, [200, 400]);
  });

  t.test("no token and answer of a client's backend delay another client", async (t) => {
    const attackWith = async (token: string, index: number) => {
      let answers = index * TESTS_PER_TOKEN; // together, the tests of all tokens get each answer
      const backend = await startBackend(t, (request, response) => {
        request.resume();
        response.end(ANSWERS[answers++ % ANSWERS.length]);
      });
      const tenant = await makeTenant(service);
      const { headers } = await tenant.createKey("webhooks:manage");
      await configureWebhook(service, tenant, { url: backend.url });
      const config = { webhook_secret: token };
      t.equal((await service.call("PATCH", "/api/webhooks/config", { headers, json: config })).status, 200);
      for (let test = 0; test < TESTS_PER_TOKEN; test++) {
        const { body } = await service.call("POST", "/api/webhooks/test", { headers });
        t.equal(body.delivered, true);
      }
      const drafts = ANSWERS.map((_, index) => ({ dedupKey: `${index}` }));
      await makeEvents(service, tenant, ...drafts);
      await until("the dispatcher has delivered the events", async () => {
        const path = "/api/webhooks/events?status=delivered&type=message.received&limit=100";
        return (await service.call("GET", path, { headers })).body.data.length === drafts.length;
      });
    };
    await service.underProbes(t, "all tokens and answers", () => Promise.all(TOKENS.map(attackWith)));
  });

  t.test("connections that send slowly delay no other request", async (t) => {
    const { hostname, port } = new URL(service.address);
    await service.underProbes(t, `${CONNECTIONS} slow connections`, async () => {
      const sockets = await Promise.all(
        Array.from(
          { length: CONNECTIONS },
          (_, index) =>
            new Promise<Socket>((resolve) => {
              const socket = connect(Number(port), hostname, () => resolve(socket));
              socket.on("error", () => {});
              socket.write(BEGINNINGS[index % BEGINNINGS.length] as string);
            }),
        ),
      );
      for (let byte = 0; byte < 4; byte++) {
        for (const socket of sockets) if (socket.writable) socket.write(" ");
        t.equal((await service.call("GET", "/readyz")).status, 200);
      }
      for (const socket of sockets) socket.destroy();
    });
  });
});
