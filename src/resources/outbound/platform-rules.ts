import { ApiError, invalidField, invalidFields } from "../../http/api-error.ts";
import { isTranslatable } from "../../platforms/pages/translate.ts";
import { recipientKind } from "../../platforms/recipients.ts";
import type { Platform, RecipientKind } from "../../schema/enumerations.ts";
import { openObject, type TSchema, Type } from "../../schema/types.ts";
import { type Check, createValidator } from "../../schema/validate.ts";
import type { SendMessageDto } from "./schema.ts";

const forbidden = (message: string) => Type.Optional(Type.Unsafe<never>({ not: {}, "x-message": message }));

const pagesOnly = (field: string) => forbidden(`${field} is for photoapp and socialapp only`);

/** What a page may say at once; a caption is a text of its own there. */
function pageRules(text: TSchema): TSchema {
  const media = (type: string) =>
    Type.Optional(
      openObject({
        id: forbidden(`${type}.id is for chatapp only: send a link`),
        caption: Type.Optional(text),
      }),
    );
  return openObject({
    text: Type.Optional(openObject({ body: text })),
    image: media("image"),
    video: media("video"),
    audio: media("audio"),
    document: media("document"),
  });
}

/** What each platform asks beyond the rules for all. */
const RULES: Readonly<Record<Platform, TSchema>> = {
  chatapp: openObject({ messaging_type: pagesOnly("messaging_type"), tag: pagesOnly("tag") }),
  photoapp: pageRules(Type.Unsafe<string>({ type: "string", "x-max-bytes": 1000 })),
  socialapp: pageRules(Type.String({ maxLength: 2000 })),
};

const RECIPIENT_FORMATS: Readonly<Record<Platform, string>> = {
  chatapp:
    "a phone number with its country code, 7 to 15 digits of which the first is not 0, or a business-scoped id such as US.13491208655302741918",
  photoapp: "the id of a person at the account, digits only",
  socialapp: "the id of a person at the page, digits only",
};

/** How the recipient is named, once nothing is wrong with the message on this platform; else it is refused. */
export type PlatformRules = (platform: Platform, message: SendMessageDto) => RecipientKind;

export function createPlatformRules(): PlatformRules {
  const validator = createValidator();
  const checks = Object.fromEntries(
    Object.entries(RULES).map(([platform, rules]) => [platform, validator.json(rules)]),
  ) as Record<Platform, Check>;
  return (platform, message) => {
    if (message.platform !== undefined && message.platform !== platform)
      throw invalidField("/platform", `platform must be the channel's, which is ${platform}`);
    if (platform !== "chatapp" && !isTranslatable(platform, message.type))
      throw unsupported(platform, message);
    const problems = checks[platform](message);
    if (problems.length > 0) throw invalidFields(problems);
    const kind = recipientKind(message.to, platform);
    if (kind === undefined) throw invalidRecipient(platform, message);
    return kind;
  };
}

function unsupported(platform: Platform, { type }: SendMessageDto): ApiError {
  const message = `A channel of ${platform} cannot send messages of type ${type}`;
  return new ApiError("unsupported_message_type", message, { details: [{ path: "/type", message }] });
}

function invalidRecipient(platform: Platform, { to }: SendMessageDto): ApiError {
  const message = to.startsWith("+")
    ? "to must be the number without a leading +"
    : `to must be ${RECIPIENT_FORMATS[platform]}`;
  return new ApiError("invalid_recipient", message, { details: [{ path: "/to", message }] });
}
