import t from "tap";
import { SECOND } from "../../../src/runtime/durations.ts";
import { startHostileService } from "../../fixtures/hostile/service.ts";
import { imageOfSize, MIB } from "../../fixtures/images/images.ts";
import { textMessage } from "../../fixtures/messages/messages.ts";
import { issueAdToken } from "../../fixtures/sandbox/ad-platform.ts";
import { DEMO_CHAT_TOKEN, PHONE_NUMBER_ID, WABA_ID } from "../../fixtures/sandbox/assets.ts";
import { callSandbox, startSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { grantAdAccount } from "../../fixtures/tenants/ad-accounts.ts";
import { COFFEE_ACCOUNT_ID } from "../../fixtures/tenants/ad-grants.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { FIRST_TERMS_VERSION } from "../../fixtures/tenants/terms.ts";
import { until } from "../../fixtures/until.ts";

const UPLOADS = 13;
const PLATFORM_DELAY_MS = 15 * SECOND;
/** Refused with 400, once it has been read. */
const TOO_LONG_TEXT = "x".repeat(MIB);

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
  const channel = await makeChannel(service, other, {
    phoneNumberId: PHONE_NUMBER_ID,
    wabaId: WABA_ID,
    token: DEMO_CHAT_TOKEN,
  });
  const sender = await other.createKey("messages:send");
  const statusOf = async (text: string) => {
    const json = textMessage(channel, { text: { body: text } });
    return (await service.call("POST", "/api/outbound/send", { headers: sender.headers, json })).status;
  };
  const statuses = await service.underProbes(t, `${UPLOADS} images`, async () => {
    const uploads = Array.from({ length: UPLOADS }, async () => {
      const { status } = await service.call("POST", "/api/marketing/images", upload);
      return status;
    });
    const seen = new Set<number>();
    let isOver = false;
    const uploaded = Promise.all(uploads).finally(() => {
      isOver = true;
    });
    await until("the uploads have ended", async () => {
      for (const text of ["Hi", TOO_LONG_TEXT]) seen.add(await statusOf(text));
      return isOver;
    });
    const others = (await uploaded).filter((status) => ![200, 429, 503].includes(status));
    t.same(others, [], "each upload is answered");
    return seen;
  });
  t.same(statuses, new Set([202, 400]), "another client's messages are accepted or too long");
});
