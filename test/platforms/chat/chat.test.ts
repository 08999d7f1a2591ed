import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import t from "tap";
import { captureLog } from "../../fixtures/captured-log.ts";
import { failedAs } from "../../fixtures/platforms/failures.ts";
import { connectPlatforms, DEMO_CHAT_NUMBER, startPlatforms } from "../../fixtures/platforms/platforms.ts";
import { allocateRedisDatabase } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

const TEMPLATE = {
  name: "order_update",
  language: "pt_BR",
  category: "UTILITY",
  components: [
    { type: "BODY", text: "Order {{1}} ships soon.", example: { body_text: [["A-1"]] } },
    { type: "FOOTER", text: "Reply STOP" },
  ],
};

t.test("a template is submitted unchanged and returned with its id", async (t) => {
  const context = await startPlatforms(t);
  const { templates } = context.platforms.chat;
  const answer = await templates.create(DEMO_CHAT_NUMBER, TEMPLATE);
  t.match(answer, {
    outcome: "accepted",
    status: 200,
    body: { id: /^\d+$/, status: "PENDING", category: "UTILITY" },
  });
  t.same((await context.receivedCalls()).at(0)?.body, TEMPLATE);
  await until("the template is approved", async () => {
    const [found] = await templates.listAll(DEMO_CHAT_NUMBER, { name: TEMPLATE.name });
    return found?.status === "APPROVED";
  });
});

t.test("a refused template is returned with the platform's status and error", async (t) => {
  const context = await startPlatforms(t);
  const { templates } = context.platforms.chat;
  await templates.create(DEMO_CHAT_NUMBER, TEMPLATE);
  const again = await templates.create(DEMO_CHAT_NUMBER, TEMPLATE);
  t.match(again, { outcome: "refused", status: 400, error: { code: 100, userMessage: String } });
  await context.arm({ kind: "error", code: 190 });
  const dead = await templates.create(DEMO_CHAT_NUMBER, { ...TEMPLATE, name: "other" });
  t.match(dead, { outcome: "refused", status: 401, verdict: "token_dead" });
});

t.test("a lost or unreadable response to a template call throws", async (t) => {
  for (const kind of ["drop_after", "html"]) {
    const context = await startPlatforms(t);
    await context.arm({ kind });
    const { templates } = context.platforms.chat;
    await t.rejects(templates.create(DEMO_CHAT_NUMBER, TEMPLATE), failedAs("ambiguous"));
    await context.arm({ kind });
    const removal = templates.remove(DEMO_CHAT_NUMBER, { name: TEMPLATE.name });
    await t.rejects(
      removal,
      failedAs(kind === "html" ? "unusable_answer" : "disconnected", { retryable: true }),
    );
  }
});

t.test("all templates are listed across pages, and a single page can be read", async (t) => {
  const context = await startPlatforms(t);
  const { templates } = context.platforms.chat;
  const names = Array.from({ length: 30 }, (_, i) => `page_${String(i).padStart(2, "0")}`);
  for (const name of names) await templates.create(DEMO_CHAT_NUMBER, { ...TEMPLATE, name });
  const all = await templates.listAll(DEMO_CHAT_NUMBER);
  t.same(all.map(({ name }) => name).sort(), ["hello_world", ...names]);
  t.ok(all.every(({ id }) => typeof id === "string"));
  const page = await templates.list(DEMO_CHAT_NUMBER, {}, { limit: 10 });
  t.equal(page.items.length, 10);
  t.ok(page.hasMore);
  const next = await templates.list(DEMO_CHAT_NUMBER, {}, { limit: 10, after: page.after ?? "" });
  t.notSame(next.items, page.items);
  const filtered = await templates.listAll(DEMO_CHAT_NUMBER, {
    name: "page_07",
    language: "pt_BR",
    category: "UTILITY",
  });
  t.ok(filtered.length >= 1 && filtered.every(({ name }) => String(name).startsWith("page_07")));
});

t.test("a template is deleted by name, or a single language by name and id", async (t) => {
  const { platforms } = await startPlatforms(t);
  const { templates } = platforms.chat;
  const made = await templates.create(DEMO_CHAT_NUMBER, TEMPLATE);
  await templates.create(DEMO_CHAT_NUMBER, { ...TEMPLATE, language: "en_US" });
  const hsmId = made.outcome === "accepted" ? String(made.body.id) : "";
  t.match(await templates.remove(DEMO_CHAT_NUMBER, { name: TEMPLATE.name, hsmId }), {
    outcome: "accepted",
    status: 200,
  });
  t.same(
    (await templates.listAll(DEMO_CHAT_NUMBER, { name: TEMPLATE.name })).map(({ language }) => language),
    ["en_US"],
  );
  t.match(await templates.remove(DEMO_CHAT_NUMBER, { name: TEMPLATE.name }), { outcome: "accepted" });
  t.same(await templates.listAll(DEMO_CHAT_NUMBER, { name: TEMPLATE.name }), []);
  const unknown = await templates.remove(DEMO_CHAT_NUMBER, { name: "never_made" });
  t.match(unknown, { outcome: "refused", status: 400, error: { code: 100, subcode: 2593002 } });
});

t.test("a business's numbers can be listed, read, subscribed and registered", async (t) => {
  const context = await startPlatforms(t);
  const { numbers } = context.platforms.chat;
  const found = [{ phone_number_id: DEMO_CHAT_NUMBER.phoneNumberId, verified_name: "Sandbox Coffee" }];
  t.match(await numbers.listAll(DEMO_CHAT_NUMBER), found);
  t.match(await numbers.read(DEMO_CHAT_NUMBER), { display_phone_number: "+55 11 90000-0301" });
  t.equal(await numbers.namespace(DEMO_CHAT_NUMBER), "ba30dd89_2ebd_41e4_b805_f2c05ae04cc9");
  await numbers.subscribe(DEMO_CHAT_NUMBER);
  await numbers.register(DEMO_CHAT_NUMBER, "123456");
  t.same((await context.receivedCalls()).at(-1)?.body, { messaging_product: "whatsapp", pin: "123456" });
  await t.rejects(numbers.register(DEMO_CHAT_NUMBER, "12"), failedAs("invalid"));
});

t.test("a file is uploaded and downloaded as a stream", async (t) => {
  const { platforms } = await startPlatforms(t, { pace: 1 }); // a URL lasts for minutes
  const { media } = platforms.chat;
  const bytes = Buffer.alloc(300_000, "coffee ");
  const pieces = Array.from({ length: 30 }, (_, i) => bytes.subarray(i * 10_000, (i + 1) * 10_000));
  const file = {
    filename: "menu.txt",
    type: "text/plain",
    content: Readable.from(pieces),
    size: bytes.length,
  };
  const id = await media.upload(DEMO_CHAT_NUMBER, file);
  const download = await media.download(DEMO_CHAT_NUMBER, id);
  t.match(download, { type: "text/plain", size: bytes.length });
  t.ok((await buffer(download.body)).equals(bytes));
});

t.test("a file of unknown length can be uploaded", async (t) => {
  const { platforms } = await startPlatforms(t, { pace: 1 }); // a URL lasts for minutes
  const content = Readable.from([Buffer.from("one "), Buffer.from("two")]);
  const id = await platforms.chat.media.upload(DEMO_CHAT_NUMBER, {
    filename: "a.txt",
    type: "text/plain",
    content,
  });
  t.equal(
    (await buffer((await platforms.chat.media.download(DEMO_CHAT_NUMBER, id)).body)).toString(),
    "one two",
  );
});

t.test("a download of an unknown file fails as missing", async (t) => {
  const { platforms } = await startPlatforms(t);
  await t.rejects(platforms.chat.media.download(DEMO_CHAT_NUMBER, "1999999999999999"), failedAs("missing"));
});

t.test("files are fetched only from hosts in PLATFORM_MEDIA_HOSTS", async (t) => {
  const context = await startPlatforms(t);
  const file = { filename: "a.txt", type: "text/plain", content: Buffer.from("hi") };
  const id = await context.platforms.chat.media.upload(DEMO_CHAT_NUMBER, file);
  const settings = {
    SANDBOX_PORT: new URL(context.origin).port,
    PLATFORM_MEDIA_HOSTS: "media.example",
    REDIS_URL: await allocateRedisDatabase(),
  };
  const elsewhere = await connectPlatforms(t, settings, captureLog());
  const before = (await context.receivedCalls()).length;
  await t.rejects(
    elsewhere.chat.media.download(DEMO_CHAT_NUMBER, id),
    failedAs("unusable_answer", { message: /PLATFORM_MEDIA_HOSTS/ }),
  );
  t.equal(
    (await context.receivedCalls()).length,
    before + 1,
    "the file's URL was requested, the file was not",
  );
});
