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

const recipient = (ending: string, effect: string) => toMagicValue("a recipient ending in", ending, effect);
const person = (ending: string, effect: string) =>
  toMagicValue("a person of a page or photo account ending in", ending, effect);
const template = (beginning: string, effect: string) =>
  toMagicValue("a template named", `${beginning}...`, effect);

/** Values that make something happen without a fault, as the numbers of payment test cards do. */
export const MAGIC_VALUES: readonly MagicValue[] = [
  recipient("0000", "fails with 131026, by a webhook"),
  recipient("0049", "fails with 131049, by a webhook"),
  recipient("0202", "is read without having been delivered"),
  recipient("0429", "is throttled at the first try"),
  recipient("0131", "meets the limit of its pair, 131056, at the first try"),
  recipient("0500", "meets an unknown error, 131000, at the first try"),
  recipient("0470", "is refused: the window is closed, 131047"),
  person("0001", "is not known, 100/2018001"),
  person("0010", "is refused: the window is closed, 10"),
  person("0108", "does not take messages, 10/2018108"),
  person("0429", "is throttled at the first try"),
  person("0551", "is not available, 551"),
  {
    value: `a person beginning with \`${PHOTO_PERSON_PREFIX}\``,
    effect: "is on the photo platform when a page writes to them",
  },
  template("reject_", "is rejected by the review"),
  template("pause_", "is approved and then paused"),
  template("recategorise_", "is put into another category"),
  template("instant_", "is approved at once"),
  ...AD_MAGIC_VALUES,
];
