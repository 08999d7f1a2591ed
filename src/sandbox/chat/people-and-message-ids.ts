import { createHash, randomBytes } from "node:crypto";
import type { SandboxContext } from "../context.ts";
import { invalidParameter } from "../graph/graph-error.ts";
import type { Params } from "../graph/params.ts";
import { chatError } from "./chat-error.ts";
import type { Sender } from "./numbers.ts";

/** A person who receives or sends a message. */
export interface Person {
  /** The recipient as the caller wrote it. */
  input: string;
  /** The number that the platform knows; absent for a person addressed by scoped id. */
  waId?: string;
  /** The business-scoped id. */
  userId: string;
}

const PHONE = /^\+?([1-9]\d{6,14})$/;
const SCOPED_ID = /^[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}$/;

/** `to` is a number, `recipient` a scoped id; `to` wins. */
export function readRecipient(params: Params): Person {
  const [to, recipient] = [params.text("to"), params.text("recipient")];
  if (to !== undefined) return personByPhone(to) ?? rejectRecipient("to");
  if (recipient === undefined) throw invalidParameter("The parameter to is required.");
  return personByScopedId(recipient) ?? rejectRecipient("recipient");
}

function rejectRecipient(name: string): never {
  throw chatError(131009, `Param ${name} is not a valid recipient`);
}

/** Returns the person with this number; `normalize` maps it to the number that the platform knows. */
export function personByPhone(input: string, normalize = withoutExtraDigit): Person | undefined {
  const digits = PHONE.exec(input)?.[1];
  if (digits === undefined) return undefined;
  return { input, waId: normalize(digits), userId: scopedIdOf(withoutExtraDigit(digits)) };
}

export const personByScopedId = (input: string): Person | undefined =>
  SCOPED_ID.test(input) ? { input, userId: input } : undefined;

/** Removes the ninth digit of Brazilian mobile numbers: many accounts are older and are known without it. */
function withoutExtraDigit(digits: string): string {
  return digits.replace(/^(55\d\d)9(\d{8})$/, "$1$2");
}

/** Derives the scoped id from the number, so that it is stable across restarts. */
function scopedIdOf(waId: string): string {
  const country = waId.startsWith("55") ? "BR" : "US";
  const hash = createHash("sha256").update(waId).digest();
  return `${country}.${hash.readBigUInt64BE()}`;
}

/**
 * The fields that identify a person in a webhook. A person without a visible number has a username instead.
 */
export const contactOf = ({ waId, userId }: Person) => ({
  profile: { name: "Sandbox Person", ...(waId === undefined ? { username: "sandbox.person" } : {}) },
  ...(waId === undefined ? {} : { wa_id: waId }),
  user_id: userId,
});

/** The sender and recipient of a message, used by the content rules and the statuses. */
export interface SendAttempt {
  context: SandboxContext;
  sender: Sender;
  recipient: Person;
}

type Direction = "in" | "out";

const checksumOf = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 8);

/** Creates a message id that encodes direction and number, so that it can be verified after a restart. */
export function newWamid(direction: Direction, number: string): string {
  const text = `${direction}:${number}:${randomBytes(9).toString("hex")}`;
  return `wamid.HBg${Buffer.from(`${text}:${checksumOf(text)}`).toString("base64url")}`;
}

/** True for the id of a message that this number received or sent, limited to `directions`. */
export function isWamid(
  id: string,
  number: string,
  directions: readonly Direction[] = ["in", "out"],
): boolean {
  const text = Buffer.from(id.replace(/^wamid\.HBg/, ""), "base64url").toString();
  const end = text.lastIndexOf(":");
  const [direction, owner] = text.split(":");
  return (
    checksumOf(text.slice(0, end)) === text.slice(end + 1) &&
    owner === number &&
    directions.some((candidate) => candidate === direction)
  );
}
