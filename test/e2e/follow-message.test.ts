import t from "tap";
import type { Fields } from "../../src/runtime/logging/log.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { startLocalCluster } from "../fixtures/processes/local-cluster.ts";
import { until } from "../fixtures/until.ts";

const RECIPIENT = "5511988887777";
const TEXT = "a text that no log contains";

/** The fields that identify a step of the message. */
const stepOf = ({ process, event, status, outcome, route, type }: Fields) =>
  [process, event, type, outcome ?? status, route].filter((value) => value !== undefined).join(" ");

t.test("a message is followed by its id through the logs, the timeline and the command line", async (t) => {
  const { web, dispatcher, callApi, settings } = await startLocalCluster(t);
  const [{ channel_id }] = (await callApi("GET", "/api/channels?platform=chatapp")).body.data;
  const message = { channel_id, to: RECIPIENT, type: "text", text: { body: TEXT } };
  const sent = await callApi("POST", "/api/outbound/send", message, { "x-request-id": "order-1042" });
  const id = sent.body.message_id as string;

  /** The lines that a search for the message id finds. */
  const linesOfMessage = () =>
    [web, dispatcher]
      .flatMap((each) => each.stdout().split("\n"))
      .filter((line) => line.includes(id) && line.endsWith("}"))
      .map((line) => JSON.parse(line) as Fields);
  const isDelivered = ({ event, outcome }: Fields) =>
    event === "delivery.attempted" && outcome === "delivered";
  const expectedDeliveries = 3; // message.send_result, and message.status of sent and delivered
  const lines = await until("the message is followed to its last delivery", () => {
    const found = linesOfMessage();
    return found.filter(isDelivered).length >= expectedDeliveries ? found : undefined;
  });

  const steps = new Set(lines.map(stepOf));
  for (const step of [
    "web http.request 202 /api/outbound/send",
    "dispatcher platform.called done",
    "dispatcher message.sent text accepted",
    "web webhook.received",
    "dispatcher delivery.attempted message.send_result delivered",
    "dispatcher delivery.attempted message.status delivered",
  ])
    t.ok(steps.has(step), step);
  const webhooks = lines.filter(({ event }) => event === "webhook.received");
  t.match(webhooks, [{ request_id: /^req_/, message_ids: id, event_ids: /^evt_/ }]);
  for (const { event_id } of lines.filter(({ type }) => type === "message.status"))
    t.ok(
      webhooks.some(({ event_ids }) => String(event_ids).includes(String(event_id))),
      "from a webhook",
    );
  t.match(
    lines.find(({ event }) => event === "http.request"),
    { request_id: "order-1042", pid: web.child.pid },
  );
  t.ok(lines.every(({ pid }) => pid === web.child.pid || pid === dispatcher.child.pid));
  t.notMatch(JSON.stringify(lines), new RegExp(`${TEXT}|${RECIPIENT}`));

  const { data } = (await callApi("GET", `/api/outbound/messages/${id}/timeline`)).body;
  t.match(data[0], { type: "accepted", request_id: "order-1042" });
  const count = (type: string) => data.filter((entry: { type: string }) => entry.type === type).length;
  t.match([count("platform_attempt"), count("event")], [1, Number]);
  t.ok(count("delivery_attempt") >= expectedDeliveries);
  const herald = createCommandRunner(t, settings);
  const { code, json } = await herald(["message", "show", id, "--json"]);
  t.equal(code, 0);
  t.match(json, { message: { message_id: id }, timeline: data.slice(0, 5) });
});
