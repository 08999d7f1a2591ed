import type { SandboxContext } from "../context.ts";
import type { InboundMessage, InboundSource } from "../webhooks/inbound-source.ts";
import type { Webhook } from "../webhooks/webhooks.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import { contentOf } from "./inbound-content.ts";
import { contactOf, type Person, personByPhone, personByScopedId } from "./messages/recipient.ts";
import { newWamid } from "./messages/wamid.ts";
import { isPhoneNumberId, metadataOf, senderOf } from "./numbers.ts";

/** Receives messages from people to phone numbers. */
export const chatInbound = (context: SandboxContext): InboundSource => ({
  hasChannel: isPhoneNumberId,
  receive: (message) => receive(context, message),
});

function receive(context: SandboxContext, { channel, from, type, content }: InboundMessage): Webhook {
  const receiver = senderOf(channel);
  const person = readPerson(from);
  const message = {
    ...(person.waId === undefined ? {} : { from: person.waId }),
    from_user_id: person.userId,
    id: newWamid("in", channel),
    timestamp: String(Math.floor(Date.now() / 1000)),
    type,
    ...contentOf({ context, number: channel, person }, type, content),
  };
  const value = {
    messaging_product: "whatsapp",
    metadata: metadataOf(receiver),
    contacts: [contactOf(person)],
    messages: [message],
  };
  return {
    object: "whatsapp_business_account",
    entry: [{ id: receiver.waba.id, changes: [{ field: "messages", value }] }],
  };
}

/** Keeps the number unchanged: the sandbox treats a sender's number as the one that the platform knows. */
function readPerson(from: string): Person {
  const person = personByPhone(from, (digits) => digits) ?? personByScopedId(from);
  if (!person) throw invalidParameter("from must be a phone number or a business-scoped id");
  return person;
}
