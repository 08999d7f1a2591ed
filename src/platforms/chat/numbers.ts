import { type Fields, jsonBody, omitNullish, textOf } from "../bodies.ts";
import type { PlatformClient } from "../client/client.ts";
import { type CallIdentity, type PlatformSender, platformSender } from "../client/sender.ts";
import { unusableAnswer } from "../errors/failure.ts";

/** A business on the chat platform and a token that has access to it. */
export interface ChatBusiness {
  wabaId: string;
  token: string;
  /** Ids that identify the call in the log. */
  about?: Fields;
}

/** A phone number of a business. */
export interface ChatNumber extends ChatBusiness {
  phoneNumberId: string;
}

/** Identity for management calls; all numbers of a business share one quota. */
export const businessIdentity = (business: ChatBusiness): CallIdentity => identityOf(business, "whatsapp");

/**
 * Identity for sends, which the management quota does not count: a business over that quota can still send. Sends have
 * their own backoff, so that only a wait reported by the platform pauses them.
 */
export const messagingIdentity = (business: ChatBusiness): CallIdentity => identityOf(business);

const identityOf = ({ wabaId, token, about }: ChatBusiness, useCase?: string): CallIdentity => ({
  token,
  owner: "channel",
  quota: { asset: wabaId, ...(useCase === undefined ? {} : { useCase }) },
  ...(about ? { about } : {}),
});

export const businessSender = (client: PlatformClient, business: ChatBusiness): PlatformSender =>
  platformSender(client, businessIdentity(business));

export const messagingSender = (client: PlatformClient, business: ChatBusiness): PlatformSender =>
  platformSender(client, messagingIdentity(business));

export interface PhoneNumber {
  phone_number_id: string;
  display_phone_number?: string;
  verified_name?: string;
  code_verification_status?: string;
}

export interface ChatNumbers {
  listAll(business: ChatBusiness): Promise<PhoneNumber[]>;
  read(number: ChatNumber): Promise<PhoneNumber>;
  /** Enables the number for sending and sets its two-step PIN. */
  register(number: ChatNumber, pin: string): Promise<void>;
  /** Subscribes the app's webhook to the business's events. */
  subscribe(business: ChatBusiness): Promise<void>;
  /** Returns the namespace of the business's templates. */
  namespace(business: ChatBusiness): Promise<string | undefined>;
}

const FIELDS = "id,display_phone_number,verified_name,code_verification_status";

export function createChatNumbers(client: PlatformClient): ChatNumbers {
  return {
    async listAll(business) {
      const rows = await businessSender(client, business).allPages(`/${business.wabaId}/phone_numbers`, {
        fields: FIELDS,
      });
      return rows.map(toPhoneNumber).filter((number) => number !== undefined);
    },
    async read(number) {
      const row = await businessSender(client, number).get(`/${number.phoneNumberId}`, { fields: FIELDS });
      const found = toPhoneNumber(row);
      if (!found) throw unusableAnswer("The platform's response has no phone number id");
      return found;
    },
    async register(number, pin) {
      const body = jsonBody({ messaging_product: "whatsapp", pin });
      await businessSender(client, number).change(`/${number.phoneNumberId}/register`, body);
    },
    async subscribe(business) {
      await businessSender(client, business).change(`/${business.wabaId}/subscribed_apps`);
    },
    async namespace(business) {
      const fields = "message_template_namespace";
      return textOf((await businessSender(client, business).get(`/${business.wabaId}`, { fields }))[fields]);
    },
  };
}

/** Undefined when the row has no id. */
function toPhoneNumber(row: Fields): PhoneNumber | undefined {
  const id = textOf(row.id);
  const known = {
    display_phone_number: textOf(row.display_phone_number),
    verified_name: textOf(row.verified_name),
    code_verification_status: textOf(row.code_verification_status),
  };
  return id === undefined ? undefined : { phone_number_id: id, ...omitNullish(known) };
}
