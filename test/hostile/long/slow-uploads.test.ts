import t from "tap";
import { SECOND } from "../../../src/runtime/durations.ts";
import { checkAnswer } from "../../fixtures/hostile/answers.ts";
import { watchProcessorShare } from "../../fixtures/hostile/processor-share.ts";
import {
  openSockets,
  repeatPlan,
  requestHead,
  type SocketReport,
} from "../../fixtures/hostile/raw-sockets.ts";
import { startHostileService } from "../../fixtures/hostile/service.ts";
import {
  issueChatToken,
  OTHER_WABA_ID,
  PHONE_NUMBER_ID,
  PLAIN_NUMBER_ID,
  WABA_ID,
} from "../../fixtures/sandbox/assets.ts";
import { startSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const UPLOADS = 520;
/** The service checks the rate of so small a body from the 10th second on. */
const FILE_BYTES = 60_000;
/** Those beyond the share wait 10 s; the last of them begins then. */
const MAX_UPLOAD_MS = 30 * SECOND;
/** Ends the test of a service that does not end the uploads. */
const GIVE_UP_MS = 60 * SECOND;

t.test("slow uploads of one client end, and keep no upload of another client out", async (t) => {
  const sandbox = await startSandbox(t, { pace: 1 });
  const service = await startHostileService(t, {
    ...sandbox.serviceSettings,
    MAX_CONNECTIONS_PER_ADDRESS: "0",
  });
  const makeUploader = async (phoneNumberId: string, wabaId: string) => {
    const tenant = await makeTenant(service);
    const token = issueChatToken([wabaId]);
    const channel = await makeChannel(service, tenant, { phoneNumberId, wabaId, token });
    const { headers } = await tenant.createKey("messages:send");
    return { path: `/api/channels/${channel}/media`, headers: { ...headers, "content-type": "text/plain" } };
  };
  const [attacker, other] = [
    await makeUploader(PHONE_NUMBER_ID, WABA_ID),
    await makeUploader(PLAIN_NUMBER_ID, OTHER_WABA_ID),
  ];
  const upload = () => service.call("POST", other.path, { headers: other.headers, raw: "a small file" });
  t.equal((await upload()).status, 201, "an upload without the attack");

  const length = { "Content-Length": `${FILE_BYTES}` };
  const head = requestHead(`POST ${attacker.path}`, { ...attacker.headers, ...length });
  const drip = { text: "x", everyMs: 2 * SECOND };
  const reports = await service.underProbes(t, `${UPLOADS} slow uploads`, async () => {
    const processorShare = watchProcessorShare();
    const startedAt = performance.now();
    const sockets = openSockets(t, service.address, repeatPlan(UPLOADS, { head, drip }));
    await sockets.settled();
    for (let count = 0; count < 3; count++) await checkAnswer(t, "another client's upload", [201], upload);
    const isEnded = ({ answeredAfterMs, closedAfterMs }: SocketReport) =>
      answeredAfterMs !== undefined || closedAfterMs !== undefined;
    await until("the slow uploads have ended, or the time is over", async () => {
      const isLate = performance.now() - startedAt > GIVE_UP_MS;
      return isLate || (await sockets.reports()).every(isEnded);
    });
    const endedAfterMs = Math.round(performance.now() - startedAt);
    t.ok(endedAfterMs < MAX_UPLOAD_MS / processorShare(), `the slow uploads end after ${endedAfterMs} ms`);
    await checkAnswer(t, "another client's upload after the slow ones", [201], upload);
    return sockets.stop();
  });
  const statuses = new Set(reports.map(({ statuses }) => statuses[0]));
  t.same(statuses, new Set([408, 503]), "each slow upload is 408, or 503 beyond the client's share");
  t.notOk(
    service.web.lines().find(({ event }) => event === "http.failed"),
    "web logs no fault",
  );
  const { child } = service.web;
  t.equal(child.exitCode ?? child.signalCode, null, "web is still running");
});
