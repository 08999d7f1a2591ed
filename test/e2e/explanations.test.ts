import t from "tap";
import { readConfig } from "../../src/runtime/config/config.ts";
import { MINUTE } from "../../src/runtime/durations.ts";
import { MAGIC_VALUES } from "../../src/sandbox/magic-values.ts";
import { causeOfCode } from "../../src/schema/causes/causes.ts";
import { startDispatcher } from "../fixtures/processes/dispatcher.ts";
import { type SandboxApi, startSandboxApi } from "../fixtures/processes/local-cluster.ts";
import { connectRawClient } from "../fixtures/servers/servers.ts";
import { until } from "../fixtures/until.ts";

/** The cause of a message to each magic recipient, by the recipient's last four digits. Those in retry are read later. */
const CHAT_CAUSES: Readonly<Record<string, string>> = {
  "0000": "recipient_unreachable",
  "0049": "withheld_by_platform",
  "0131": "retry",
  "0202": "read",
  "0410": "delivery_failed",
  "0429": "retry",
  "0470": "window_closed",
  "0500": "retry",
};

const PAGE_CAUSES: Readonly<Record<string, string>> = {
  "0001": "recipient_unknown",
  "0010": "window_closed",
  "0108": "recipient_refuses_messages",
  "0429": "retry",
  "0551": "recipient_unavailable",
};

const FIRST_TRY_CODES: Readonly<Record<string, number>> = { "0131": 131056, "0429": 130429, "0500": 131000 };

/** message.send_result, and message.status for sent, delivered and read. */
const EVENTS_OF_READ_MESSAGE = 4;

/** Puts every retry off for an hour, so that no test misses it. */
const POSTPONE_RETRIES = `
  create function postpone() returns trigger language plpgsql as
    $$ begin new.next_attempt_at := now() + interval '1 hour'; return new; end $$;
  create trigger postpone before update on sends for each row
    when (old.attempts = 0 and new.attempts = 1 and new.state = 'waiting')
    execute function postpone()`;

type Explanation = Record<string, unknown> & { cause: string; platform_error?: { code: number } };

const endingsOf = (prefix: string) =>
  MAGIC_VALUES.flatMap(({ value }) =>
    value.startsWith(prefix) ? value.match(/`(\d{4})`/)?.[1] : undefined,
  ).filter((ending) => ending !== undefined);

function createSender({ callApi }: SandboxApi) {
  const explain = async (id: string): Promise<Explanation> =>
    (await callApi("GET", `/api/outbound/messages/${id}/explanation`)).body;
  return {
    explain,
    async send(channelId: string, to: string, content: object = { type: "text", text: { body: "Hi" } }) {
      const { status, body } = await callApi("POST", "/api/outbound/send", {
        channel_id: channelId,
        to,
        ...content,
      });
      if (status !== 202) throw new Error(JSON.stringify(body));
      return body.message_id as string;
    },
    untilCause: (id: string, cause: string): Promise<Explanation> =>
      until(`${id} has the cause ${cause}`, async () => {
        const explanation = await explain(id);
        return explanation.cause === cause ? explanation : undefined;
      }),
    readGuide: async (documentation: string) =>
      (await callApi("GET", documentation.split("#")[0] as string)).status,
  };
}

t.test("the explanation of a message to a magic recipient of the sandbox", async (t) => {
  const cluster = await startSandboxApi(t);
  await startDispatcher(t, { config: readConfig(cluster.settings) });
  const raw = await connectRawClient(t, String(cluster.settings.DATABASE_URL));
  await raw.query(POSTPONE_RETRIES);
  const sender = createSender(cluster);
  const { body: channels } = await cluster.callApi("GET", "/api/channels");
  const channelOf = (platform: string): string =>
    channels.data.find((channel: { platform: string }) => channel.platform === platform).channel_id;

  t.test("every magic recipient has its causes here", async (t) => {
    t.same(endingsOf("a chat recipient").sort(), Object.keys(CHAT_CAUSES).sort());
    t.same(endingsOf("a page or photo account recipient").sort(), Object.keys(PAGE_CAUSES).sort());
  });

  t.test("on a number", async (t) => {
    const checks = Object.entries(CHAT_CAUSES).map(async ([ending, cause]) => {
      const id = await sender.send(channelOf("chatapp"), `551190000${ending}`);
      const explanation = await sender.untilCause(id, cause);
      t.equal(await sender.readGuide(String(explanation.documentation)), 200);
      const code = explanation.platform_error?.code;
      if (explanation.status === "failed") t.equal(causeOfCode(String(code)), cause);
      if (cause !== "retry") return [];
      t.match(explanation, {
        verdict: "waiting",
        until: String,
        platform_error: { code: FIRST_TRY_CODES[ending] },
      });
      return [id];
    });
    const retried = (await Promise.all(checks)).flat();
    await raw.query("update sends set next_attempt_at = now() where id = any($1)", [retried]);
    await Promise.all(retried.map((id) => sender.untilCause(id, "read")));
  });

  t.test("the events that the client's backend refused are delivered when they are retried", async (t) => {
    const { body: messages } = await cluster.callApi("GET", "/api/outbound/messages?to=5511900000410");
    const { message_id, created_at } = messages.data[0];
    const failed = await until("every event about the message has failed", async () => {
      const path = `/api/webhooks/events?status=failed&message_id=${message_id}`;
      const { data } = (await cluster.callApi("GET", path)).body;
      return data.length === EVENTS_OF_READ_MESSAGE ? data : undefined;
    });
    for (const { id } of failed) {
      const { delivery_attempts } = (await cluster.callApi("GET", `/api/webhooks/events/${id}`)).body;
      t.match(delivery_attempts, [{ attempt: 1, status_code: 410 }]);
      t.equal(delivery_attempts.length, 1);
    }
    // The platform reports whole seconds: a status can precede the message.
    const since = new Date(Date.parse(created_at) - 1 * MINUTE).toISOString();
    const retry = { status: "failed", message_id, since };
    t.match((await cluster.callApi("POST", "/api/webhooks/events/retry", retry)).body, {
      queued: EVENTS_OF_READ_MESSAGE,
    });
    await sender.untilCause(message_id, "read");
  });

  for (const [platform, prefix] of [
    ["socialapp", "7400000000"],
    ["photoapp", "1784000000"],
  ] as const)
    t.test(`on ${platform}`, async () => {
      const checks = Object.entries(PAGE_CAUSES).map(async ([ending, cause]) => {
        await sender.untilCause(await sender.send(channelOf(platform), `${prefix}${ending}`), cause);
      });
      await Promise.all(checks);
    });

  t.test("with a template that was rejected or paused", async (t) => {
    const channel_id = channelOf("chatapp");
    const expected = { reject_me: "template_missing", pause_me: "template_paused" };
    const statuses = { reject_me: "REJECTED", pause_me: "PAUSED" };
    const checks = Object.entries(expected).map(async ([name, cause]) => {
      const components = [{ type: "BODY", text: "Your order is ready" }];
      const template_data = { name, language: "en_US", category: "UTILITY", components };
      const submitted = await cluster.callApi("POST", "/api/templates/submit", { channel_id, template_data });
      t.match(submitted.body, { externalCode: 200 });
      await until(`${name} was reviewed`, async () => {
        const { body } = await cluster.callApi("POST", "/api/templates/list", { channel_id, name });
        return body.data[0]?.platform_status === statuses[name as keyof typeof statuses];
      });
      const content = { type: "template", template: { name, language: { code: "en_US" } } };
      await sender.untilCause(await sender.send(channel_id, "5511900007777", content), cause);
    });
    await Promise.all(checks);
  });

  t.test("the number that always fails: the explanation alone says what to do", async (t) => {
    const { body } = await cluster.callApi("GET", "/api/outbound/messages?to=5511900000000");
    t.match(await sender.explain(body.data[0].message_id), {
      status: "failed",
      verdict: "failed",
      cause: "recipient_unreachable",
      summary: /number has no account/,
      who_acts: "recipient",
      next_step: /^Check the number\./,
      until: null,
      platform_error: { code: 131026 },
      documentation: "/docs/guides/errors#recipient",
    });
    const { rows } = await raw.query("select 1 from messages where status = 'failed' and error_code is null");
    t.same(rows, [], "every failed message has the code by which it is counted");
    const { body: failures } = await cluster.callApi("GET", "/api/stats/failures");
    const causes = failures.data.map(({ cause }: { cause: string }) => cause);
    for (const cause of ["recipient_unreachable", "window_closed", "template_paused"])
      t.ok(causes.includes(cause));
  });
});
