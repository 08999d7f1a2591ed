import { chatError } from "../chat-error.ts";
import { mediaById } from "../media/media.ts";
import { checkInteractive } from "./interactive-rules.ts";
import type { Part } from "./part.ts";
import type { SendAttempt } from "./send-attempt.ts";
import { checkTemplateMessage } from "./template-rules.ts";
import { isWamid } from "./wamid.ts";

type Rule = (message: Part, attempt: SendAttempt) => void;

const MAX_TEXT_LENGTH = 4096;
const MAX_CAPTION_LENGTH = 1024;

/** Checks per message type. The content is stored under the type's name. */
export const CONTENT_RULES: Readonly<Record<string, Rule>> = {
  text: (message) => void message.object("text").requiredText("body", MAX_TEXT_LENGTH),
  image: mediaRule("image"),
  video: mediaRule("video"),
  audio: mediaRule("audio"),
  document: mediaRule("document"),
  sticker: mediaRule("sticker"),
  location: checkLocation,
  contacts: (message) => {
    for (const contact of message.list("contacts")) contact.object("name").requiredText("formatted_name");
  },
  reaction: checkReaction,
  interactive: (message) => checkInteractive(message.object("interactive")),
  template: (message, attempt) => checkTemplateMessage(message.object("template"), attempt),
};

/** Types that can only be received. */
export const INBOUND_ONLY: readonly string[] = ["button", "order", "system", "unsupported", "edit", "revoke"];

function mediaRule(type: string): Rule {
  return (message, { context, sender }) => {
    const content = message.object(type);
    content.text("caption", MAX_CAPTION_LENGTH);
    content.text("filename");
    const [id, link] = [content.text("id"), content.text("link")];
    if ((id === undefined) === (link === undefined))
      throw chatError(131009, `${type} must have an id or a link, and not both`);
    if (link !== undefined && !/^https?:\/\//.test(link))
      throw chatError(131009, `${content.pathOf("link")} is not a valid URL`);
    if (id !== undefined && mediaById(context, id)?.number !== sender.number.id)
      throw chatError(131009, `${content.pathOf("id")} is not the id of a media object of this number`);
  };
}

function checkLocation(message: Part): void {
  const location = message.object("location");
  location.coordinate("latitude", 90);
  location.coordinate("longitude", 180);
}

/** Accepts an empty emoji, which removes the reaction. */
function checkReaction(message: Part, { sender }: SendAttempt): void {
  const reaction = message.object("reaction");
  if (!isWamid(reaction.requiredText("message_id"), sender.number.id))
    throw chatError(131009, "reaction['message_id'] is not the id of a message of this number");
  if (reaction.text("emoji") === undefined)
    throw chatError(131008, "The parameter reaction['emoji'] is required.");
}
