import { AD_MAGIC_VALUES } from "../ads/magic-values.ts";
import { PHOTO_PERSON_PREFIX } from "../pages/people.ts";

interface MagicValue {
  value: string;
  effect: string;
}

const toMagicValue = (prefix: string, name: string, effect: string): MagicValue => ({
  value: `${prefix} \`${name}\``,
  effect,
});

const recipient = (ending: string, effect: string) =>
  toMagicValue("a chat recipient ending in", ending, effect);
const person = (ending: string, effect: string) =>
  toMagicValue("a page or photo account recipient ending in", ending, effect);
const template = (beginning: string, effect: string) =>
  toMagicValue("a template named", `${beginning}...`, effect);

/** Values that cause a specific outcome without a fault, like the numbers of payment test cards. */
export const MAGIC_VALUES: readonly MagicValue[] = [
  recipient("0000", "fails with error 131026; the failure arrives as a webhook"),
  recipient("0049", "fails with error 131049; the failure arrives as a webhook"),
  recipient("0202", "is reported as read without a delivered status"),
  recipient("0429", "fails with error 130429 (rate limit) on the first attempt and succeeds afterwards"),
  recipient("0131", "fails with error 131056 (pair rate limit) on the first attempt and succeeds afterwards"),
  recipient("0500", "fails with error 131000 (unknown error) on the first attempt and succeeds afterwards"),
  recipient("0470", "is refused with error 131047: the messaging window is closed"),
  person("0001", "is refused with error 100/2018001: no such person"),
  person("0010", "is refused with error 10: the messaging window is closed"),
  person("0108", "is refused with error 10/2018108: the person does not accept messages"),
  person(
    "0429",
    "fails with error 80006 (page) or 80002 (photo account), a rate limit, on the first attempt and succeeds afterwards",
  ),
  person("0551", "is refused with error 551: the person is not available"),
  {
    value: `a page recipient beginning with \`${PHOTO_PERSON_PREFIX}\``,
    effect: "is on the photo platform: the message is sent from the page's photo account",
  },
  template("reject_", "is rejected in review"),
  template("pause_", "is approved in review, then paused"),
  template("recategorise_", "is moved to the MARKETING category in review"),
  template("instant_", "is approved immediately"),
  ...AD_MAGIC_VALUES,
];
