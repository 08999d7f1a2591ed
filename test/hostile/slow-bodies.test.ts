import { randomBytes } from "node:crypto";
import t, { type Test } from "tap";
import { checkAnswer } from "../fixtures/hostile/answers.ts";
import {
  nearlyComplete,
  openSockets,
  type RawSockets,
  type SocketPlan,
} from "../fixtures/hostile/raw-sockets.ts";
import { type HostileService, sharedHostileService } from "../fixtures/hostile/service.ts";
import { MIB } from "../fixtures/images/images.ts";
import { textMessage } from "../fixtures/messages/messages.ts";
import { pageWebhook, signWebhook } from "../fixtures/platforms/webhooks.ts";
import { makeChannel, newPlatformId } from "../fixtures/tenants/channels.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";

const KIB = 1_024;
const SIGNATURE = { "X-Hub-Signature-256": `sha256=${"a".repeat(64)}` };
const OTHER_ADDRESS = { "x-forwarded-for": "203.0.113.77" };

type MakePlan = (bytes: number, index: number) => SocketPlan;

/** Takes the memory for bodies, in the stages one after the other: a refused large body would leave a gap. */
async function holdBodies(t: Test, { address }: HostileService, plan: MakePlan, sizes: [number, number][][]) {
  const opened: RawSockets[] = [];
  for (const stage of sizes) {
    const plans = stage.flatMap(([count, bytes]) =>
      Array.from({ length: count }, (_, index) => plan(bytes, index)),
    );
    const sockets = openSockets(t, address, plans);
    opened.push(sockets);
    await sockets.settled();
  }
  return { release: () => Promise.all(opened.map((sockets) => sockets.stop())) };
}

const SMALL_BODIES: [number, number][] = [
  [4, 16 * KIB],
  [32, KIB],
  [32, 200],
];

t.test("webhook bodies that nearly end keep no body of others out", async (t) => {
  const service = await sharedHostileService();
  const signed = async () => {
    const raw = pageWebhook(newPlatformId(), ["a-message"]);
    const headers = { ...OTHER_ADDRESS, "x-hub-signature-256": signWebhook(raw) };
    return service.call("POST", "/platform/webhook", { headers, raw });
  };
  const signIn = () => {
    const json = { email: `${randomBytes(40).toString("hex")}@example.com`, password: "a wrong password" };
    return service.call("POST", "/api/auth/login", { headers: OTHER_ADDRESS, json });
  };
  const ADDRESSES: [title: string, addressOf: (index: number) => string][] = [
    ["one address", () => "192.0.2.10"],
    ["18 addresses", (index) => `192.0.2.${20 + (index % 18)}`],
  ];
  for (const [title, addressOf] of ADDRESSES)
    await service.underProbes(t, `webhooks from ${title}`, async () => {
      const plan: MakePlan = (bytes, index) =>
        nearlyComplete("POST /platform/webhook", bytes, {
          ...SIGNATURE,
          "X-Forwarded-For": addressOf(index),
        });
      const held = await holdBodies(t, service, plan, [[[15, 4 * MIB]], [[4, 256 * KIB]], SMALL_BODIES]);
      for (let count = 0; count < 3; count++)
        await checkAnswer(t, `${title}: a signed webhook`, [200], signed);
      await checkAnswer(t, `${title}: a sign-in`, [401], signIn);
      await held.release();
    });
});

t.test("a client's bodies that nearly end keep no body of another client out", async (t) => {
  const service = await sharedHostileService();
  const { headers } = await (await makeTenant(service)).createKey("messages:send");
  const other = await makeTenant(service);
  const channel = await makeChannel(service, other);
  const otherKey = await other.createKey("messages:send");
  const send = (json: object) =>
    service.call("POST", "/api/outbound/send", { headers: otherKey.headers, json });
  const plan: MakePlan = (bytes) => nearlyComplete("POST /api/outbound/send", bytes, headers);
  await service.underProbes(t, "bodies of 8 MiB", async () => {
    const held = await holdBodies(t, service, plan, [[[15, 8 * MIB]], [[8, 256 * KIB]], SMALL_BODIES]);
    await checkAnswer(t, "a message", [202], () => send(textMessage(channel)));
    const tooLong = textMessage(channel, { text: { body: "x".repeat(100_000) } });
    await checkAnswer(t, "a body of 100 KB", [400], () => send(tooLong));
    await held.release();
  });
});
