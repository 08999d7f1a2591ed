/** A program that a user may write. `npm test` compiles it in an empty project and runs it on Node and on Deno. */
import { Herald, NotFoundError, ValidationError } from "@herald/sdk";
import { sign, unwrap } from "@herald/sdk/webhooks";

/** Uses each kind of request once and returns what it found. */
export async function smoke(baseUrl: string, apiKey: string): Promise<Record<string, unknown>> {
  const operations: string[] = [];
  const herald = new Herald({ baseUrl, apiKey, onResponse: ({ operation }) => operations.push(operation) });
  const [channel] = await herald.channels.list({ platform: "chatapp" }).toArray({ limit: 1 });
  if (!channel) throw new Error("there is no channel");

  const message = {
    channel_id: channel.channel_id,
    to: "5511988887777",
    type: "text",
    text: { body: "Hello" },
  } as const;
  const { message_id } = await herald.messages.send(message);
  const { status } = await herald.messages.waitUntil(message_id, "sent");
  const isSame = (await herald.messages.get(message_id)).message_id === message_id;

  const { event_id } = await herald.webhooks.sendTest({ type: "message.received", wait: false });
  const since = new Date(Date.now() - 60_000).toISOString();
  let streamed: string | undefined;
  for await (const event of herald.events.stream({ since, types: ["message.received"] })) {
    streamed = event.event_id;
    if (streamed === event_id) break;
  }

  const file = await herald.channels.uploadMedia(
    channel.channel_id,
    new Blob(["a file"], { type: "text/plain" }),
  );
  const missing = await herald.messages
    .get("msg_01jc8m4t7v2x5k9w3r6y1b0nqd")
    .catch((error: unknown) => error);
  const invalid = await herald.messages.send({ ...message, to: "" }).catch((error: unknown) => error);
  const signed = await sign({ id: "evt_1", type: "webhook.test" }, "a-secret-of-my-own");
  const event = await unwrap(signed.body, signed.headers, "a-secret-of-my-own");
  return {
    isReached: status !== "queued",
    isSame,
    isStreamed: streamed === event_id,
    isUploaded: file.media_id !== "",
    isMissing: missing instanceof NotFoundError,
    isInvalid: invalid instanceof ValidationError,
    type: event.type,
    operations,
  };
}
