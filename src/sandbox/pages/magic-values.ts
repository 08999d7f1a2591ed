import { GraphError } from "../wire/graph-error.ts";
import type { Account } from "./accounts.ts";

interface MagicRefusal {
  code: number;
  subcode?: number;
  message: string;
  /** Only the first attempt from each account fails. */
  isFirstTryOnly?: boolean;
}

type MagicRefusals = Readonly<Record<string, MagicRefusal>>;

const OUTSIDE_WINDOW_MESSAGE = "This message is sent outside of allowed window.";

const SHARED_REFUSALS: MagicRefusals = {
  "0001": { code: 100, subcode: 2018001, message: "No matching user found" },
  "0108": { code: 10, subcode: 2018108, message: "This person isn't receiving messages from you right now." },
  "0551": { code: 551, subcode: 1545041, message: "This person isn't available right now." },
};

/** Errors by the last four digits of the recipient's id. */
const RECIPIENT_SUFFIXES: Readonly<Record<Account["platform"], MagicRefusals>> = {
  messenger: {
    ...SHARED_REFUSALS,
    "0010": { code: 10, subcode: 2018278, message: OUTSIDE_WINDOW_MESSAGE },
    "0429": {
      code: 80006,
      message: "There have been too many calls to this page account.",
      isFirstTryOnly: true,
    },
  },
  instagram: {
    ...SHARED_REFUSALS,
    "0010": { code: 10, subcode: 2534022, message: OUTSIDE_WINDOW_MESSAGE },
    "0429": {
      code: 80002,
      message: "There have been too many calls to this Instagram account.",
      isFirstTryOnly: true,
    },
  },
};

/** Throws the error of a magic recipient; `triedPairs` has the pairs whose first attempt has failed. */
export function throwMagicRefusal(
  { platform, id }: Account,
  recipient: string,
  triedPairs: Set<string>,
): void {
  const refusal = RECIPIENT_SUFFIXES[platform][recipient.slice(-4)];
  const pair = `${id} ${recipient}`;
  if (!refusal || (refusal.isFirstTryOnly && triedPairs.has(pair))) return;
  triedPairs.add(pair);
  const { code, subcode, message } = refusal;
  throw new GraphError(code, `(#${code}) ${message}`, subcode === undefined ? {} : { subcode });
}
