import { type Herald, MessageFailedError } from "@herald/sdk";
import t, { type Test } from "tap";
import { RECIPIENT_PHONE } from "../fixtures/messages/messages.ts";
import { type SandboxApi, startSandboxService } from "../fixtures/processes/local-cluster.ts";
import { simpleTemplate } from "../fixtures/sandbox/chat-templates.ts";
import { createRecordedSdk } from "../fixtures/sdk/recorded-sdk.ts";

const FAILING_PHONE = "5511988880000";

interface Context {
  service: SandboxApi;
  /** The SDK with the demo client's API key. */
  herald: Herald;
  /** The SDK with the token of the demo client's owner. */
  owner: Herald;
  /** The demo client's phone number. */
  channelId: string;
  /** Before the first event. */
  since: string;
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

async function firstOf<T>(items: AsyncIterable<T>): Promise<T> {
  for await (const item of items) return item;
  throw new Error("there are no items");
}

async function checkAuth(t: Test, { service, herald, owner }: Context): Promise<void> {
  t.match(await herald.auth.me(), { credential: { type: "api_key" }, role: null });
  t.match(await owner.auth.me(), { credential: { type: "user" }, role: "owner" });
  t.match(await herald.auth.login(service.owner), { token: String, user: { role: "owner" } });
  const sessions = owner.auth.listSessions({ limit: 1 });
  const pages = await collect(sessions.pages());
  t.same(
    pages.map(({ data, paging }) => [data.length, paging.has_more]),
    [
      [1, true],
      [1, false],
    ],
  );
  const [other] = (await collect(sessions)).filter(({ current }) => !current);
  t.equal(await owner.auth.deleteSession(String(other?.id)), undefined);
  t.match(await sessions.toArray({ limit: 5 }), [{ current: true }]);
}

async function checkKeys(t: Test, { owner }: Context): Promise<void> {
  const { id, key } = await owner.keys.create({ name: "Another", scopes: ["messages:send"] });
  t.match(key, /^svc_test_/);
  const rotated = await owner.keys.rotate(id);
  t.not(rotated.key, key);
  t.equal(await owner.keys.revoke(rotated.id), undefined);
  const [newest] = await owner.keys.list().toArray({ limit: 1 });
  t.match(newest, { id: rotated.id, name: "Another", revoked_at: String });
}

async function checkUsers(t: Test, { owner }: Context): Promise<void> {
  const created = await owner.users.create({ email: "sam@example.com", name: "Sam", role: "viewer" });
  t.match(created, { role: "viewer", password: String });
  t.match(await owner.users.update(created.id, { role: "member" }), { id: created.id, role: "member" });
  t.equal(await owner.users.changePassword(created.id, { password: "another password" }), undefined);
  t.same((await collect(owner.users.list())).map(({ role }) => role).sort(), ["member", "owner"]);
}

async function checkEmbedSessions(t: Test, { herald }: Context): Promise<void> {
  const { id, url, token } = await herald.embedSessions.create({
    allowed_origins: ["https://app.example.com"],
    external_ref: "signup-1",
  });
  t.ok(url.endsWith(token));
  t.match(await herald.embedSessions.get(id), { id, status: "pending" });
  t.match(await herald.embedSessions.revoke(id), { id, status: "revoked" });
  t.match(await collect(herald.embedSessions.list({ external_ref: "signup-1" })), [{ id }]);
}

async function checkMessages(t: Test, { herald, channelId, service }: Context): Promise<void> {
  const message = { channel_id: channelId, type: "text", text: { body: "Hello" } } as const;
  const [idempotencyKey, to] = ["order-1", RECIPIENT_PHONE];
  const first = await herald.messages.send({ ...message, to }, { idempotencyKey });
  const second = await herald.messages.send({ ...message, to }, { idempotencyKey });
  t.equal(first.message_id, second.message_id);
  const delivered = await herald.messages.waitUntil(first.message_id, "delivered");
  t.match(delivered, { message_id: first.message_id, status: /delivered|read/ });
  const sent = (await service.requests()).filter(
    ({ path, body }) => /messages$/.test(path) && body.to === to,
  );
  t.equal(sent.length, 1, "the platform got one message");

  const { message_id } = await herald.messages.send({ ...message, to: FAILING_PHONE });
  const failure = await herald.messages.waitUntil(message_id, "delivered").catch((error: unknown) => error);
  t.ok(failure instanceof MessageFailedError);
  t.match(failure, { code: "message_failed", failedMessage: { message_id, error: { code: 131026 } } });
  t.match(await herald.messages.explain(message_id), { cause: "recipient_unreachable" });
  t.match((await herald.messages.timeline(message_id)).data[0], { type: "accepted" });
  t.match(await herald.messages.get(message_id), { status: "failed", to: FAILING_PHONE });

  const list = herald.messages.list({ channel_id: channelId, limit: 1 });
  const ids = (await collect(list)).map((item) => item.message_id);
  t.same(ids, [message_id, first.message_id], "newest first");
  const page = await list.page();
  t.match(page, { data: { length: 1 }, paging: { has_more: true } });
  const after = String(page.paging.cursors.after);
  const older = herald.messages.list({ channel_id: channelId, limit: 1, after });
  t.match(await older.page(), { data: [{ message_id: first.message_id }], paging: { has_more: false } });
}

/** A time that no test reaches. */
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

async function checkCancelledMessages(t: Test, { herald: { messages }, channelId }: Context): Promise<void> {
  const { message_id } = await messages.send({
    channel_id: channelId,
    to: RECIPIENT_PHONE,
    type: "text",
    text: { body: "Later" },
    send_at: inAnHour(),
  });
  await t.rejects(messages.waitUntil(message_id, "sent", { timeoutMs: 1 }), { code: "timeout" });
  const failure = messages.waitUntil(message_id, "sent").catch((error: unknown) => error);
  t.match(await messages.cancel(message_id), { message_id, status: "cancelled" });
  t.ok((await failure) instanceof MessageFailedError);
  t.match(await failure, { message: `${message_id} is cancelled`, failedMessage: { status: "cancelled" } });
}

async function checkBatches(t: Test, { herald: { batches, messages }, channelId }: Context): Promise<void> {
  const text = { channel_id: channelId, type: "text", text: { body: "Hello" } } as const;
  const people = [{ to: RECIPIENT_PHONE }, { to: "5511988887778", body: "Hello Ana" }, { to: "+1" }];
  const sent = await batches.send({ ...text, name: "sale", messages: people });
  t.match(sent, { accepted: 2, rejected: [{ index: 2, error: "invalid_recipient" }] });
  t.match(await batches.waitUntilFinished(sent.batch_id), { name: "sale", status: "finished" });
  t.equal((await collect(messages.list({ batch_id: sent.batch_id }))).length, 2);

  const later = { ...text, messages: [{ to: RECIPIENT_PHONE }], send_at: inAnHour() };
  const [idempotencyKey, options] = ["sale-2", { timeoutMs: 1 }];
  const { batch_id } = await batches.send(later, { idempotencyKey });
  t.equal((await batches.send(later, { idempotencyKey })).batch_id, batch_id, "the same batch");
  await t.rejects(batches.waitUntilFinished(batch_id, options), { code: "timeout" });
  t.match(await batches.pause(batch_id), { status: "paused", pause_reason: "requested" });
  t.match(await batches.resume(batch_id), { status: "scheduled" });
  t.match(await batches.cancel(batch_id), { status: "cancelled", counts: { cancelled: 1 } });
  t.match(await batches.waitUntilFinished(batch_id), { status: "cancelled" });
  await t.rejects(batches.pause(batch_id), { code: "invalid_state_transition" });
  t.match(await batches.get(batch_id), { batch_id });
  const listed = await collect(batches.list({ channel_id: channelId, limit: 1 }));
  t.same(
    listed.map((batch) => batch.batch_id),
    [batch_id, sent.batch_id],
  );
}

async function checkEvents(t: Test, { herald, channelId, service, since }: Context): Promise<void> {
  for (const body of ["one", "two"]) await service.sendInboundMessage(body);
  const filters = { channel_id: channelId, types: ["message.received"] } as const;
  const one = await firstOf(herald.events.stream({ ...filters, since }));
  const two = await firstOf(herald.events.stream({ ...filters, cursor: one.cursor }));
  t.match(one.payload, { type: "message.received", data: { content: { body: "one" } } });
  t.match(two.payload, { type: "message.received", data: { content: { body: "two" } } });
  const polled = await herald.events.poll({ since, types: "message.received", wait: 1 });
  t.match(polled, { data: [{ event_id: one.event_id }, { event_id: two.event_id }], cursor: String });

  const received = one.payload.type === "message.received" ? one.payload.data.platform_message_id : undefined;
  t.equal(await herald.channels.markRead(channelId, { message_id: String(received) }), undefined);
  t.match(await herald.events.get(one.event_id), { id: one.event_id, payload: { id: one.event_id } });
  const events = await collect(herald.events.list({ type: "message.received", limit: 1 }));
  t.same(events.map(({ id }) => id).sort(), [one.event_id, two.event_id].sort());
  t.match(await herald.events.retry(one.event_id), { id: one.event_id, redispatched: true });
  const skipped = await herald.events.retryAll({ since, status: "skipped" });
  t.match(skipped, { queued: 1, by_type: { "ad_account.connected": 1 } }, "from before the webhook_url");
}

async function checkMedia(t: Test, { herald: { channels }, channelId }: Context): Promise<void> {
  const bytes = new TextEncoder().encode("a file of text");
  const blob = new Blob([bytes], { type: "text/plain" });
  const { media_id } = await channels.uploadMedia(channelId, blob);
  const other = await channels.uploadMedia(channelId, bytes, { contentType: "text/plain" });
  t.not(other.media_id, media_id);
  for (const id of [media_id, other.media_id]) {
    const response = await channels.downloadMedia(channelId, id);
    t.match(response.headers.get("content-type"), "text/plain");
    t.equal(await response.text(), "a file of text");
  }
}

async function checkTemplates(
  t: Test,
  { herald: { templates }, channelId: channel_id }: Context,
): Promise<void> {
  const template_data = simpleTemplate("instant_order");
  t.match(await templates.submit({ channel_id, template_data }), { externalCode: 200, status: "APPROVED" });
  const list = templates.list({ channel_id, limit: 1 });
  const pages = await collect(list.pages());
  t.same(pages.flatMap(({ data }) => data.map(({ name }) => name)).sort(), ["hello_world", "instant_order"]);
  t.same(
    pages.map(({ paging }) => paging.has_more),
    [true, false],
  );
  t.match(pages[0], { namespace: String });
  t.equal((await list.toArray({ limit: 1 })).length, 1);
  t.match(await templates.delete({ channel_id, template_name: "instant_order" }), { success: true });
}

async function checkWebhooks(t: Test, { herald: { webhooks } }: Context): Promise<void> {
  t.match(await webhooks.getConfig(), { configured: true, token_header: true });
  t.match(await webhooks.updateConfig({ token_header: false }), { token_header: false });
  const { dispatch_urls } = await webhooks.updateDispatch("photoapp", { enabled: false });
  t.equal(dispatch_urls.platforms.photoapp.enabled, false);
  t.ok((await webhooks.generateSecret()).webhook_secret.length >= 16);
  t.match(await webhooks.sendTest(), { event_id: String, delivered: true });
}

async function checkStats(t: Test, { herald: { stats } }: Context): Promise<void> {
  t.match(await stats.messages({ interval: "day" }), { interval: "day", totals: { waiting: 0 } });
  t.match(await stats.events(), { interval: "hour", totals: { failed: 0 } });
  t.match((await stats.failures()).data, [{ kind: "message", cause: "recipient_unreachable" }]);
  t.equal((await stats.queue()).held, false);
}

async function checkChannels(t: Test, { herald, owner }: Context): Promise<void> {
  const channels = await collect(herald.channels.list({ limit: 2 }));
  t.equal(channels.length, 3, "two pages");
  const [page] = await herald.channels.list({ platform: "socialapp" }).toArray({ limit: 1 });
  const id = String(page?.channel_id);
  t.equal(await herald.channels.disconnect(id), undefined);
  t.match(await herald.channels.get(id), { channel_id: id, status: "disconnected" });
  const entries = owner.audit.list({ action: "channel.disconnected" });
  t.match(await entries.toArray({ limit: 1 }), [{ target: id }]);
}

async function checkService(t: Test, { herald }: Context): Promise<void> {
  t.match(await herald.service.health(), { status: "ok" });
  t.match(await herald.service.readiness(), { status: "ready", postgres: "ok", redis: "ok" });
  const { data } = await herald.setup.get();
  t.ok(data.find(({ step }) => step === "message")?.done);
}

async function checkLogout(t: Test, { owner }: Context): Promise<void> {
  t.equal(await owner.auth.logout(), undefined);
  await t.rejects(owner.auth.me(), { code: "unauthorized" });
}

/** In this order: the later checks use what the earlier ones have sent. */
const CHECKS = {
  auth: checkAuth,
  keys: checkKeys,
  users: checkUsers,
  embedSessions: checkEmbedSessions,
  messages: checkMessages,
  media: checkMedia,
  events: checkEvents,
  templates: checkTemplates,
  stats: checkStats,
  "cancelled messages": checkCancelledMessages,
  batches: checkBatches,
  webhooks: checkWebhooks,
  "channels, audit": checkChannels,
  "service, setup": checkService,
  logout: checkLogout,
};

t.test("every method outside advertising succeeds at the service", async (t) => {
  const since = new Date().toISOString();
  const service = await startSandboxService(t);
  const sdk = createRecordedSdk(`http://127.0.0.1:${service.settings.PORT}`);
  const herald = sdk.open({ apiKey: service.apiKey });
  const { token } = await sdk.open().auth.login(service.owner);
  const owner = sdk.open({ userToken: token });
  const [number] = await herald.channels.list({ platform: "chatapp" }).toArray({ limit: 1 });
  const context = { service, herald, owner, channelId: String(number?.channel_id), since };
  for (const [name, check] of Object.entries(CHECKS)) await t.test(name, (t) => check(t, context));
  sdk.checkCoverage(t, await herald.service.openapi(), "other");
});
