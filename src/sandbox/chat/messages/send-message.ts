import type { Ground } from "../../context.ts";
import { own } from "../../own-property.ts";
import { perGround } from "../../per-sandbox.ts";
import type { Call } from "../../wire/call.ts";
import { invalidParameter } from "../../wire/graph-error.ts";
import type { Params } from "../../wire/params.ts";
import { chatError } from "../chat-error.ts";
import { fateOf } from "../magic.ts";
import { digitsOf, senderOf } from "../numbers.ts";
import { checkProduct } from "../product.ts";
import { isRegistered } from "../registration.ts";
import { CONTENT_RULES, INBOUND_ONLY, type Scene } from "./content-rules.ts";
import { Part } from "./part.ts";
import { type Person, readRecipient } from "./recipient.ts";
import { followUp } from "./statuses.ts";
import { isWamid, newWamid } from "./wamid.ts";

/** One edge for two things: a message, or the word that one was read. */
export function sendMessage(ground: Ground, call: Call): unknown {
  checkProduct(call.params);
  return call.params.has("status") ? markRead(call) : send(ground, call);
}

function markRead({ node, params }: Call): unknown {
  if (params.requiredText("status") !== "read") throw invalidParameter("Param status must be one of {READ}");
  const id = params.requiredText("message_id");
  if (!isWamid(id, node, ["in"])) throw chatError(131009, `message_id ${id} was not received by this number`);
  const typing = params.object("typing_indicator");
  if (typing) new Part(typing, "typing_indicator").oneOf("type", ["text"]);
  return { success: true };
}

function send(ground: Ground, { node, params }: Call): unknown {
  if ((params.text("recipient_type") ?? "individual") !== "individual")
    throw invalidParameter("Param recipient_type must be one of {INDIVIDUAL}");
  const recipient = readRecipient(params);
  const sender = senderOf(node);
  if (!isRegistered(ground, node))
    throw chatError(133010, "The phone number must be registered before it can send.");
  const scene = { ground, sender, recipient };
  const message = readMessage(params, scene);
  if (recipient.input.replace("+", "") === digitsOf(sender.number))
    throw chatError(131021, "The sender and the recipient are the same number.");
  meetFate(scene);
  const id = newWamid("out", node);
  followUp(scene, { id, ...message });
  return accepted(recipient, { id, ...(message.template ? { message_status: "accepted" } : {}) });
}

const accepted = ({ input, waId, userId }: Person, message: unknown) => ({
  messaging_product: "whatsapp",
  contacts: [{ input, ...(waId === undefined ? { user_id: userId } : { wa_id: waId }) }],
  messages: [message],
});

/** What of a message its statuses need to know. */
export interface SentMessage {
  id: string;
  template: string | undefined;
  voice: boolean;
  /** Comes back with every status. */
  opaque: string | undefined;
}

function readMessage(params: Params, scene: Scene): Omit<SentMessage, "id"> {
  const type = params.text("type") ?? "text";
  const rule = own(CONTENT_RULES, type);
  if (INBOUND_ONLY.includes(type)) throw chatError(131051, `Messages of type ${type} cannot be sent.`);
  if (!rule) throw invalidParameter(`Param type must be one of {${Object.keys(CONTENT_RULES).join(", ")}}`);
  const content = type === "contacts" ? params.list(type) : params.object(type);
  const message = new Part(content === undefined ? {} : { [type]: content });
  rule(message, scene);
  const context = params.object("context");
  if (context) new Part(context, "context").requiredText("message_id");
  return {
    template: type === "template" ? message.object(type).text("name") : undefined,
    voice: type === "audio" && message.object(type).has("voice"),
    opaque: params.text("biz_opaque_callback_data"),
  };
}

/** Pairs of sender and recipient of which the first try is past. */
const triedOf = perGround(() => new Set<string>());

function meetFate({ ground, sender, recipient }: Scene): void {
  const { first, refused } = fateOf(recipient.input);
  if (refused) throw chatError(refused, "More than 24 hours have passed since the person last wrote.");
  const pair = `${sender.number.id} ${recipient.userId}`;
  const tried = triedOf(ground);
  if (first === undefined || tried.has(pair)) return;
  tried.add(pair);
  throw chatError(first, "Try again later.");
}
