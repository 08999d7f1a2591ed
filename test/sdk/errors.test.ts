import { inspect } from "node:util";
import * as errors from "@herald/sdk";
import t from "tap";
import { SCOPES } from "../../src/schema/enumerations.ts";
import { textMessage } from "../fixtures/messages/messages.ts";
import { createRecordedSdk } from "../fixtures/sdk/recorded-sdk.ts";
import { startAdsContext } from "../fixtures/tenants/ad-grants.ts";
import { makeActiveAdvertiser, NEW_OBJECTS } from "../fixtures/tenants/ad-objects.ts";
import { makeChannel } from "../fixtures/tenants/channels.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";

interface Refusal {
  call: () => Promise<unknown>;
  expected: new (...args: never[]) => errors.HeraldError;
  fields: object;
}

/** The error as a program may print or log it. */
const printed = (value: unknown): string =>
  [inspect(value, { depth: 10, showHidden: true }), String(value), JSON.stringify(value)].join("\n");

t.test("the errors of the service", async (t) => {
  const context = await startAdsContext(t);
  const { api } = context;
  const client = await makeActiveAdvertiser(context);
  const [key, sendKey] = [await client.createKey(...SCOPES), await client.createKey("messages:send")];
  const { token, email } = await client.createUser("owner");
  const wrongKey = `${key.text.slice(0, -8)}00000000`;
  const wrongToken = `${token.slice(0, -8)}00000000`;
  const [password, webhook_secret] = ["a wrong password", "too-short"];
  const secrets = [key.text, sendKey.text, wrongKey, token, wrongToken, password, webhook_secret];
  const sdk = createRecordedSdk(api.address);
  const herald = sdk.open({ apiKey: key.text });
  const unreachable = createRecordedSdk("http://127.0.0.1:1").open({ userToken: token });
  const { adAccountId: ad_account_id } = client;
  const channelOfOther = await makeChannel(api, await makeTenant(api));
  const idempotencyKey = "signup-1";
  const openSession = (origin: string) =>
    herald.embedSessions.create({ allowed_origins: [origin] }, { idempotencyKey });
  await openSession("https://app.example.com");

  const refusals: Record<string, Refusal> = {
    "another tenant's object": {
      call: () => herald.channels.get(channelOfOther),
      expected: errors.NotFoundError,
      fields: { code: "not_found", status: 404, operation: "getChannel", requestId: /^req_/ },
    },
    "a key without the scope": {
      call: () => sdk.open({ apiKey: sendKey.text }).campaigns.list({ ad_account_id }).page(),
      expected: errors.PermissionError,
      fields: { code: "insufficient_scope", body: { required_scope: "marketing:read" } },
    },
    "a wrong key": {
      call: () => sdk.open({ apiKey: wrongKey }).auth.me(),
      expected: errors.AuthenticationError,
      fields: { code: "unauthorized", status: 401, retryable: false },
    },
    "a wrong user token": {
      call: () => sdk.open({ userToken: wrongToken }).auth.me(),
      expected: errors.AuthenticationError,
      fields: { code: "unauthorized" },
    },
    "a wrong password": {
      call: () => sdk.open().auth.login({ email, password }),
      expected: errors.AuthenticationError,
      fields: { operation: "loginUser", status: 401 },
    },
    "an invalid body": {
      call: () => herald.messages.send({ ...textMessage(channelOfOther), text: {} } as never),
      expected: errors.ValidationError,
      fields: { code: "validation_failed", details: [{ path: "/text/body", message: String }] },
    },
    "an invalid secret": {
      call: () => herald.webhooks.updateConfig({ webhook_secret }),
      expected: errors.ValidationError,
      fields: { details: [{ path: "/webhook_secret" }] },
    },
    "an idempotency key with another body": {
      call: () => openSession("https://other.example.com"),
      expected: errors.IdempotencyKeyReusedError,
      fields: { code: "idempotency_key_reused", idempotencyKey, retryable: false },
    },
    "a refusal of the platform": {
      call: () => herald.campaigns.create({ ad_account_id, ...NEW_OBJECTS.campaigns, daily_budget: 1 }),
      expected: errors.PlatformRefusedError,
      fields: { platformError: { code: 100, message: String } },
    },
    "no connection": {
      call: () => unreachable.auth.me({ maxRetries: 0 }),
      expected: errors.ConnectionError,
      fields: { code: "connection_failed", retryable: true },
    },
  };
  for (const [title, { call, expected, fields }] of Object.entries(refusals))
    t.test(title, async (t) => {
      const error = await call().then(
        () => t.fail("the call succeeds"),
        (reason: unknown) => reason,
      );
      t.equal((error as Error).constructor, expected);
      t.match(error, fields);
      t.ok(error instanceof errors.HeraldError);
      const output = printed(error);
      for (const secret of secrets) t.notOk(output.includes(secret));
    });

  t.test("the hooks get no credential", async (t) => {
    const output = printed(sdk.hookCalls);
    t.match(output, "getChannel");
    for (const secret of secrets) t.notOk(output.includes(secret));
  });
});
