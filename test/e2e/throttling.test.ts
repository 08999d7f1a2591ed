import t, { type Test } from "tap";
import { MINUTE } from "../../src/runtime/durations.ts";
import { sendMessage } from "../fixtures/messages/messages.ts";
import { untilMessage } from "../fixtures/messages/sending-context.ts";
import { startDispatcher } from "../fixtures/processes/dispatcher.ts";
import { startProcess } from "../fixtures/processes/processes.ts";
import { CRON_EVERY_SECOND } from "../fixtures/processes/schedulers.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import {
  DEMO_CHAT_TOKEN,
  issueChatToken,
  OTHER_WABA_ID,
  PHONE_NUMBER_ID,
  PLAIN_NUMBER_ID,
  WABA_ID,
} from "../fixtures/sandbox/assets.ts";
import { simpleTemplate } from "../fixtures/sandbox/chat-templates.ts";
import { callSandbox } from "../fixtures/sandbox/sandbox.ts";
import {
  type AdsContext,
  COFFEE_ACCOUNT_ID,
  startAdsContext,
  WHOLESALE_ACCOUNT_ID,
} from "../fixtures/tenants/ad-grants.ts";
import { makeChannel } from "../fixtures/tenants/channels.ts";
import { createTemplateClient } from "../fixtures/tenants/templates.ts";
import { until } from "../fixtures/until.ts";

const APP_PAUSE_KEY = "herald:{pauses}:app";

const FIRST_CLIENT = {
  adAccountId: COFFEE_ACCOUNT_ID,
  chat: { wabaId: WABA_ID, phoneNumberId: PHONE_NUMBER_ID, token: DEMO_CHAT_TOKEN },
};
const SECOND_CLIENT = {
  adAccountId: WHOLESALE_ACCOUNT_ID,
  chat: { wabaId: OTHER_WABA_ID, phoneNumberId: PLAIN_NUMBER_ID, token: issueChatToken([OTHER_WABA_ID]) },
};

/** A client with an ad account and a chat channel. */
async function makeClient(context: AdsContext, { adAccountId, chat }: typeof FIRST_CLIENT) {
  const { api } = context;
  const advertiser = await context.makeAdvertiser();
  const [account] = await advertiser.connectAdAccounts(adAccountId);
  const channelId = await makeChannel(api, advertiser, chat);
  return {
    refreshAccount: () => advertiser.call("POST", `/ad-accounts/${account.id}/refresh`),
    send: (to: string) => sendMessage(api, advertiser, { channel_id: channelId, to }),
    templates: await createTemplateClient(api, advertiser, channelId),
  };
}

/** The API, a dispatcher and the sandbox with two clients that share no asset. */
async function startTwoClients(t: Test) {
  const settings = await testSettings(t, { CRON_TOKENS: CRON_EVERY_SECOND });
  const context = await startAdsContext(t, { apiSettings: settings });
  const SANDBOX_PORT = new URL(context.sandbox.origin).port;
  const dispatcher = await startDispatcher(t, { config: context.api.config });
  return {
    ...context,
    dispatcher,
    settings: { ...settings, SANDBOX_PORT },
    first: await makeClient(context, FIRST_CLIENT),
    second: await makeClient(context, SECOND_CLIENT),
    /** Paths of the calls that the platforms received since the last time. */
    async takeCalls(): Promise<string[]> {
      const { body } = await callSandbox(`${context.sandbox.origin}/_sandbox/requests?clear=true`);
      return (body.data as { path: string }[]).map(({ path }) => path);
    },
    async reachAppLimit(refresh: () => Promise<{ status: number; headers: Headers }>) {
      const match = { path_prefix: `/act_${COFFEE_ACCOUNT_ID}` };
      await context.arm({ kind: "throttle", code: 4, match });
      const { status, headers } = await refresh();
      t.same([status, headers.get("retry-after")], [429, "60"]);
      // A slow machine may need longer than the pause.
      t.equal(await dispatcher.redis.pexpire(APP_PAUSE_KEY, 10 * MINUTE), 1, "the app is paused");
    },
  };
}

const { first, second, settings, dispatcher, arm, reachAppLimit, takeCalls } = await startTwoClients(t);

t.test("a client that reaches the app's limit stops neither another client nor itself", async (t) => {
  await reachAppLimit(first.refreshAccount);
  for (const client of [second, first]) {
    t.equal((await client.refreshAccount()).status, 200);
    t.equal((await client.templates.list()).status, 200);
    await untilMessage(dispatcher, await client.send("5511900000001"), { attempts: 1, state: null });
  }
});

t.test("the scheduler pauses while the app is paused, and resumes afterwards", async (t) => {
  await takeCalls();
  const scheduler = startProcess(t, "scheduler", settings);
  const ranWith = (outcome: string, error = "") =>
    scheduler
      .lines()
      .find(
        ({ event, job, ...line }) =>
          event === "cron.ran" &&
          job === "tokens" &&
          line.outcome === outcome &&
          String(line.error).includes(error),
      );
  t.match(await until("the job pauses", () => ranWith("failed", "paused")), { checked: 0, left: 2 });
  t.same(await takeCalls(), [], "the platform is not called");
  await dispatcher.redis.del(APP_PAUSE_KEY);
  t.match(await until("the job resumes", () => ranWith("ok")), { checked: 2, left: 0 });
  await scheduler.stop();
});

t.test("a business whose send reports a wait is paused for template calls, another is not", async (t) => {
  const match = { path_prefix: `/${PHONE_NUMBER_ID}/messages` };
  await arm({ kind: "throttle", code: 80007, ms: 120_000, match });
  await untilMessage(dispatcher, await first.send("5511900000001"), { state: "waiting", send_attempts: 1 });
  await takeCalls();
  const { submit, list, remove } = first.templates;
  for (const reply of [await submit(simpleTemplate("paused")), await list(), await remove("paused")]) {
    t.match(reply, { status: 429, body: { error: "platform_rate_limited", retryable: true } });
    const seconds = Number(reply.headers.get("retry-after"));
    t.ok(seconds > 60 && seconds <= 120, `${seconds} s`);
  }
  t.same(await takeCalls(), [], "the platform is not called");
  t.equal((await second.templates.list()).status, 200);
  await untilMessage(dispatcher, await second.send("5511900000001"), { attempts: 1, state: null });
});
