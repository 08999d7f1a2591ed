import t from "tap";
import { startApi } from "../../fixtures/http/api.ts";
import { makeSender, RECIPIENT_PHONE, readRows } from "../../fixtures/messages/messages.ts";
import {
  platformSettings,
  readMessage,
  startMessagePlatform,
  untilMessage,
} from "../../fixtures/messages/sending-context.ts";
import { startDispatcher } from "../../fixtures/processes/dispatcher.ts";
import { type ChannelOptions, makeChannel } from "../../fixtures/tenants/channels.ts";

/** Written as text: JSON.stringify of a JavaScript number would round the integers. */
const INTERACTIVE = `{"type":"flow","body":{"text":"Choose"},"action":{"name":"flow","parameters":{"order":9007199254740993,"limits":[-9223372036854775808,18446744073709551615,${"7".repeat(100)}],"safe":9007199254740991}}}`;
const TEMPLATE = `{"name":"order_update","language":{"code":"pt_BR"},"components":[{"type":"button","parameters":[{"type":"action","action":{"thumbnail_product_retailer_id":120210000000000001,"12345678901234567":"98765432109876543"}}]}]}`;
const CONTACTS = `[{"name":{"formatted_name":"Ana"},"org":{"id":120210000000000001}}]`;

t.test("integers beyond 2^53 in messages", async (t) => {
  const platform = await startMessagePlatform(t);
  const { config } = await startDispatcher(t, { settings: platformSettings(platform) });
  const api = await startApi(t, { config });
  const sender = await makeSender(api);
  const chatChannel = await makeChannel(api, sender.tenant);

  const post = (
    content: { type: string; text: string; channel?: string; to?: string },
    headers: Record<string, string> = {},
  ) => {
    const { type, text, channel = chatChannel, to = RECIPIENT_PHONE } = content;
    return api.call("POST", "/api/outbound/send", {
      headers: { ...sender.headers, ...headers },
      raw: `{"channel_id":"${channel}","to":"${to}","type":"${type}","${type}":${text}}`,
    });
  };
  /** Sends the content and returns the body of the platform's last request. */
  const sendAndRead = async (content: Parameters<typeof post>[0], status: string) => {
    const { body } = await post(content);
    await untilMessage(api, body.message_id, { status });
    return platform.received.at(-1)?.raw;
  };

  for (const [type, text] of Object.entries({
    interactive: INTERACTIVE,
    template: TEMPLATE,
    contacts: CONTACTS,
    text: '{"body":"Hi","future_field":-9007199254740993}',
  }))
    t.test(`they reach the chat platform as written in ${type} content`, async (t) => {
      const raw = await sendAndRead({ type, text }, "accepted");
      t.match(raw, `"type":"${type}","${type}":${text},"biz_opaque_callback_data"`);
    });

  const PAGES: ChannelOptions[] = [{ platform: "socialapp" }, { platform: "photoapp" }];
  for (const options of PAGES)
    t.test(`a ${options.platform} message is sent without its unknown field`, async (t) => {
      const channel = await makeChannel(api, sender.tenant, options);
      const text = '{"body":"Hi","future_field":9007199254740993}';
      const raw = await sendAndRead({ type: "text", text, channel, to: "9007199254740993" }, "sent");
      t.equal(
        raw,
        '{"recipient":{"id":"9007199254740993"},"messaging_type":"RESPONSE","message":{"text":"Hi"}}',
      );
    });

  t.test(
    "bodies that differ only in the last digit of an integer differ for an idempotency key",
    async (t) => {
      const contentOf = (integer: string) => ({
        type: "interactive",
        text: `{"type":"flow","action":{"id":${integer}}}`,
      });
      const key = { "idempotency-key": "long-integers" };
      const first = await post(contentOf("9007199254740993"), key);
      t.equal(first.status, 202);
      for (const integer of [
        "9007199254740992",
        "9007199254740994",
        "-9007199254740993",
        '"9007199254740993"',
      ])
        t.match(await post(contentOf(integer), key), {
          status: 422,
          body: { error: "idempotency_key_reused" },
        });
      const again = await post(contentOf(" 9007199254740993 "), key);
      t.equal(again.headers.get("idempotent-replay"), "true");
      t.equal(again.text, first.text);
      await untilMessage(api, first.body.message_id, { status: "accepted" });
      t.equal((await readMessage(api, first.body.message_id)).attempts, 1);
    },
  );

  t.test("the content is stored as written", async (t) => {
    const { body } = await post({ type: "interactive", text: INTERACTIVE });
    const rows = await readRows(api, "messages", sender.tenant);
    t.equal(rows.find(({ id }) => id === body.message_id)?.content, INTERACTIVE);
  });

  const REFUSED: [type: string, text: string, path: string, message: string][] = [
    ["text", '{"body":9007199254740993}', "/text/body", "text.body must be a string"],
    ["text", "9007199254740993", "/text", "text must be an object"],
    [
      "location",
      '{"latitude":9007199254740993,"longitude":1}',
      "/location/latitude",
      "location.latitude must be a number between -90 and 90",
    ],
    [
      "interactive",
      '{"type":"flow","action":{"n":[1e400]}}',
      "/interactive/action/n/0",
      "interactive.action.n.0 is too large",
    ],
    ["interactive", '{"type":"flow","n":-1e400}', "/interactive/n", "interactive.n is too small"],
  ];
  for (const [type, text, path, message] of REFUSED)
    t.test(`${type} content ${text} is refused`, async (t) => {
      const { status, body } = await post({ type, text });
      t.equal(status, 400);
      t.match(body, { error: "validation_failed", details: [{ path, message }] });
    });
});
