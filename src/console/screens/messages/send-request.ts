import type { MessageDetailDto, SendMessageDto } from "../../../../sdk/src/generated/types.ts";
import { shellQuote } from "../../app/format.ts";
import { toJson } from "../../app/json.ts";

/** The request that sends the same message as a new one, at once. */
export function sendRequestOf(message: MessageDetailDto): SendMessageDto {
  const { channel_id, to, type, content, external_ref, context, messaging_type, tag } = message;
  const options = { external_ref, context, messaging_type, tag };
  const given = Object.entries(options).filter(([, value]) => value !== null && value !== undefined);
  return { channel_id, to, type, [type]: content, ...Object.fromEntries(given) } as unknown as SendMessageDto;
}

/** A command that sends the same message. The key stays in a variable. */
export const sendCommand = (message: MessageDetailDto): string =>
  [
    `curl -sS ${shellQuote(`${location.origin}/api/outbound/send`)}`,
    '-H "x-svc-api-key: $HERALD_API_KEY"',
    "-H 'content-type: application/json'",
    `-d ${shellQuote(toJson(sendRequestOf(message)))}`,
  ].join(" \\\n  ");
