import t from "tap";
import { SECOND } from "../../../src/runtime/durations.ts";
import { checkAnswer } from "../../fixtures/hostile/answers.ts";
import { startHostileService } from "../../fixtures/hostile/service.ts";
import { imageOfSize, MIB } from "../../fixtures/images/images.ts";
import { textMessage } from "../../fixtures/messages/messages.ts";
import { issueAdToken } from "../../fixtures/sandbox/ad-platform.ts";
import { callSandbox, startSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { grantAdAccount } from "../../fixtures/tenants/ad-accounts.ts";
import { COFFEE_ACCOUNT_ID } from "../../fixtures/tenants/ad-grants.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { FIRST_TERMS_VERSION } from "../../fixtures/tenants/terms.ts";

const UPLOADS = 13;
const PLATFORM_DELAY_MS = 15 * SECOND;
const SEND_PAUSE_MS = 250;

t.test("images that wait for a slow ad platform keep no message of another client out", async (t) => {
  const { origin } = await startSandbox(t);
  const service = await startHostileService(t, { SANDBOX_PORT: new URL(origin).port });
  const tenant = await makeTenant(service);
  const [key, owner] = [await tenant.createKey("marketing:manage"), await tenant.createUser("owner")];
  const accept = { headers: owner.headers, json: { version: FIRST_TERMS_VERSION } };
  await service.call("POST", "/api/marketing/terms/accept", accept);
  const token = issueAdToken([COFFEE_ACCOUNT_ID]);
  const { adAccountId } = await grantAdAccount(service, tenant, { accountId: COFFEE_ACCOUNT_ID, token });
  const fault = {
    kind: "delay",
    ms: PLATFORM_DELAY_MS,
    times: 1_000,
    match: { path_prefix: `/v26.0/act_${COFFEE_ACCOUNT_ID}/adimages` },
  };
  t.equal((await callSandbox(`${origin}/_sandbox/faults`, { json: fault })).status, 201);
  const image = { ad_account_id: adAccountId, bytes_base64: imageOfSize(7 * MIB) };
  const upload = { headers: key.headers, raw: Buffer.from(JSON.stringify(image)) };

  const other = await makeTenant(service);
  const channel = await makeChannel(service, other);
  const sender = await other.createKey("messages:send");
  const send = () =>
    service.call("POST", "/api/outbound/send", { headers: sender.headers, json: textMessage(channel) });
  await service.underProbes(t, `${UPLOADS} images`, async () => {
    const uploads = Promise.all(
      Array.from({ length: UPLOADS }, () => service.call("POST", "/api/marketing/images", upload)),
    );
    let isOver = false;
    void uploads.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await checkAnswer(t, "another client's message", [202], send);
      await new Promise((resolve) => setTimeout(resolve, SEND_PAUSE_MS));
    }
    await uploads;
  });
});
