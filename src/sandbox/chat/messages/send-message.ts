import type { SandboxContext } from "../../context.ts";
import { ownProperty } from "../../own-property.ts";
import { perSandbox } from "../../per-sandbox.ts";
import type { Call } from "../../wire/call.ts";
import { invalidParameter } from "../../wire/graph-error.ts";
import type { Params } from "../../wire/params.ts";
import { chatError } from "../chat-error.ts";
import { magicOutcomeOf } from "../magic-values.ts";
import { digitsOf, senderOf } from "../numbers.ts";
import { checkProduct } from "../product.ts";
import { isRegistered } from "../registration.ts";
import { CONTENT_RULES, INBOUND_ONLY } from "./content-rules.ts";
import { Part } from "./part.ts";
import { type Person, readRecipient } from "./recipient.ts";
import type { SendAttempt } from "./send-attempt.ts";
import { type SentMessage, scheduleStatuses } from "./statuses.ts";
import { isWamid, newWamid } from "./wamid.ts";

/** Sends a message, or marks a received one as read: the platform uses one edge for both. */
export function sendMessage(context: SandboxContext, call: Call): unknown {
  checkProduct(call.params);
  return call.params.has("status") ? markRead(call) : send(context, call);
}

function markRead({ node, params }: Call): unknown {
  if (params.requiredText("status") !== "read") throw invalidParameter("Param status must be one of {READ}");
  const id = params.requiredText("message_id");
  if (!isWamid(id, node, ["in"])) throw chatError(131009, `message_id ${id} was not received by this number`);
  const typing = params.object("typing_indicator");
  if (typing) new Part(typing, "typing_indicator").oneOf("type", ["text"]);
  return { success: true };
}

function send(context: SandboxContext, { node, params }: Call): unknown {
  if ((params.text("recipient_type") ?? "individual") !== "individual")
    throw invalidParameter("Param recipient_type must be one of {INDIVIDUAL}");
  const recipient = readRecipient(params);
  const sender = senderOf(node);
  if (!isRegistered(context, node))
    throw chatError(133010, "The phone number must be registered before it can send.");
  const attempt = { context, sender, recipient };
  const message = readMessage(params, attempt);
  if (recipient.input.replace("+", "") === digitsOf(sender.number))
    throw chatError(131021, "The sender and the recipient are the same number.");
  throwMagicRefusal(attempt);
  const id = newWamid("out", node);
  scheduleStatuses(attempt, { id, ...message });
  return toAcceptedReply(recipient, { id, ...(message.template ? { message_status: "accepted" } : {}) });
}

const toAcceptedReply = ({ input, waId, userId }: Person, message: unknown) => ({
  messaging_product: "whatsapp",
  contacts: [{ input, ...(waId === undefined ? { user_id: userId } : { wa_id: waId }) }],
  messages: [message],
});

function readMessage(params: Params, attempt: SendAttempt): Omit<SentMessage, "id"> {
  const type = params.text("type") ?? "text";
  const rule = ownProperty(CONTENT_RULES, type);
  if (INBOUND_ONLY.includes(type)) throw chatError(131051, `Messages of type ${type} cannot be sent.`);
  if (!rule) throw invalidParameter(`Param type must be one of {${Object.keys(CONTENT_RULES).join(", ")}}`);
  const content = type === "contacts" ? params.list(type) : params.object(type);
  const message = new Part(content === undefined ? {} : { [type]: content });
  rule(message, attempt);
  const replyContext = params.object("context");
  if (replyContext) new Part(replyContext, "context").requiredText("message_id");
  return {
    template: type === "template" ? message.object(type).text("name") : undefined,
    voice: type === "audio" && message.object(type).has("voice"),
    opaque: params.text("biz_opaque_callback_data"),
  };
}

/** Pairs of sender and recipient that have used up their failing first attempt. */
const triedPairsOf = perSandbox(() => new Set<string>());

function throwMagicRefusal({ context, sender, recipient }: SendAttempt): void {
  const { firstTryError, everyTryError } = magicOutcomeOf(recipient.input);
  if (everyTryError)
    throw chatError(everyTryError, "More than 24 hours have passed since the person's last message.");
  const pair = `${sender.number.id} ${recipient.userId}`;
  const triedPairs = triedPairsOf(context);
  if (firstTryError === undefined || triedPairs.has(pair)) return;
  triedPairs.add(pair);
  throw chatError(firstTryError, "Try again later.");
}
