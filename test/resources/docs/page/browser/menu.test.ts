import t from "tap";
import {
  entriesOf,
  hashOf,
  withWebhookIds,
} from "../../../../../src/resources/docs/page/browser/api-document.ts";
import { textsOf } from "../../../../../src/resources/docs/page/browser/menu.ts";
import { search } from "../../../../../src/resources/docs/page/browser/search.ts";

const DOCUMENT = withWebhookIds({
  tags: [{ name: "Messages" }, { name: "Ad sets" }],
  paths: {
    "/api/adsets": { get: { operationId: "listAdSets", summary: "List ad sets", tags: ["Ad sets"] } },
    "/api/media": { post: { operationId: "upload", summary: "Upload a file to send", tags: ["Messages"] } },
    "/api/send": { post: { operationId: "sendMessage", summary: "Send a message", tags: ["Messages"] } },
  },
  webhooks: { "message.received": { post: { summary: "A person sent a message" } } },
});
const ENTRIES = entriesOf(DOCUMENT);
const idsFor = (text: string) => search(ENTRIES, text, textsOf).map(({ id }) => id);

t.test("entries follow the order of the tags; event types come last", async (t) => {
  t.same(
    ENTRIES.map(({ id }) => id),
    ["upload", "sendMessage", "listAdSets", "message.received"],
  );
  t.same(ENTRIES.map(hashOf).slice(2), ["#/Ad%20sets/listAdSets", "#/webhooks/message.received"]);
});

t.test("a webhook without an operationId gets its type as operationId", async (t) => {
  t.match(DOCUMENT.webhooks?.["message.received"], { post: { operationId: "message.received" } });
});

t.test("the search finds methods, paths, summaries and event types, whole words or not", async (t) => {
  t.same(idsFor("GET adsets"), ["listAdSets"]);
  t.same(idsFor("message.rec"), ["message.received"]);
  t.same(idsFor("MESSAGE person"), ["message.received"]);
  t.same(idsFor("nothing"), []);
  t.same(
    idsFor("  "),
    ENTRIES.map(({ id }) => id),
  );
});

t.test("entries that begin with the first word come first", async (t) => {
  t.same(idsFor("send"), ["sendMessage", "upload"]);
});
