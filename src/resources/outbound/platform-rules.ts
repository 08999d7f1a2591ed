import { ApiError, invalidField, invalidFields } from "../../http/api-error.ts";
import { isTranslatable } from "../../platforms/pages/messages.ts";
import { recipientKind } from "../../platforms/sends.ts";
import type { Platform, RecipientKind } from "../../schema/enumerations.ts";
import { openObject, type TSchema, Type } from "../../schema/types.ts";
import { type Check, createValidator } from "../../schema/validate.ts";
import type { SendMessageDto } from "./schema.ts";

const forbidden = (message: string) => Type.Optional(Type.Unsafe<never>({ not: {}, "x-message": message }));

const pagesOnly = (field: string) => forbidden(`${field} is only for photoapp and socialapp channels`);

/** Text limits of pages and photo accounts, where a caption is sent as a separate text. */
function pageRules(text: TSchema): TSchema {
  const media = (type: string) =>
    Type.Optional(
      openObject({
        id: forbidden(`${type}.id is only for chatapp channels: send a link`),
        caption: Type.Optional(text),
      }),
    );
  return openObject({
    text: Type.Optional(openObject({ body: Type.Optional(text) })), // the messages of a batch may each have their own
    image: media("image"),
    video: media("video"),
    audio: media("audio"),
    document: media("document"),
  });
}

/** Rules of each platform, in addition to the common schema. */
const PLATFORM_RULES: Readonly<Record<Platform, TSchema>> = {
  chatapp: openObject({ messaging_type: pagesOnly("messaging_type"), tag: pagesOnly("tag") }),
  photoapp: pageRules(Type.Unsafe<string>({ type: "string", "x-max-bytes": 1000 })),
  socialapp: pageRules(Type.String({ maxLength: 2000 })),
};

const RECIPIENT_FORMATS: Readonly<Record<Platform, string>> = {
  chatapp:
    "a phone number with country code (7 to 15 digits, not starting with 0) or a business-scoped id such as US.13491208655302741918",
  photoapp: "the person's id at the photo account, digits only",
  socialapp: "the person's id at the page, digits only",
};

/** Content of a message or of a batch: its type, and the object that is named like it. */
type TypedContent = Pick<SendMessageDto, "type" | "platform"> & { text?: object };

/** Rules of the platforms; each method throws a 400. */
export interface PlatformRules {
  checkContent(platform: Platform, message: TypedContent): void;
  /** Returns the kind of recipient. */
  checkRecipient(platform: Platform, to: string): RecipientKind;
}

export function createPlatformRules(): PlatformRules {
  const validator = createValidator();
  const checks = Object.fromEntries(
    Object.entries(PLATFORM_RULES).map(([platform, rules]) => [platform, validator.json(rules)]),
  ) as Record<Platform, Check>;
  return {
    checkContent(platform, message) {
      if (message.platform !== undefined && message.platform !== platform)
        throw invalidField("/platform", `platform must be ${platform}, the channel's platform`);
      if (platform !== "chatapp" && !isTranslatable(platform, message.type))
        throw unsupported(platform, message);
      const problems = checks[platform](message);
      if (problems.length > 0) throw invalidFields(problems);
    },
    checkRecipient(platform, to) {
      const kind = recipientKind(to, platform);
      if (kind === undefined) throw invalidRecipient(platform, to);
      return kind;
    },
  };
}

function unsupported(platform: Platform, { type }: TypedContent): ApiError {
  const message = `A ${platform} channel cannot send messages of type ${type}`;
  return new ApiError("unsupported_message_type", message, { details: [{ path: "/type", message }] });
}

function invalidRecipient(platform: Platform, to: string): ApiError {
  const message = to.startsWith("+")
    ? "to must be a phone number with country code, digits only: no +, spaces or dashes"
    : `to must be ${RECIPIENT_FORMATS[platform]}`;
  return new ApiError("invalid_recipient", message, { details: [{ path: "/to", message }] });
}
