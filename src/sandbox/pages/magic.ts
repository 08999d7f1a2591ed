import { GraphError } from "../wire/graph-error.ts";
import type { Account } from "./accounts.ts";

interface Fate {
  code: number;
  subcode?: number;
  message: string;
  /** Only the first try with each sender is refused. */
  once?: boolean;
}

type Fates = Readonly<Record<string, Fate>>;

const OUTSIDE = "This message is sent outside of allowed window.";

const EVERYWHERE: Fates = {
  "0001": { code: 100, subcode: 2018001, message: "No matching user found" },
  "0108": { code: 10, subcode: 2018108, message: "This person isn't receiving messages from you right now." },
  "0551": { code: 551, subcode: 1545041, message: "This person isn't available right now." },
};

/** What a recipient brings about by how its id ends. */
const RECIPIENT_ENDINGS: Readonly<Record<Account["platform"], Fates>> = {
  messenger: {
    ...EVERYWHERE,
    "0010": { code: 10, subcode: 2018278, message: OUTSIDE },
    "0429": { code: 80006, message: "There have been too many calls to this page account.", once: true },
  },
  instagram: {
    ...EVERYWHERE,
    "0010": { code: 10, subcode: 2534022, message: OUTSIDE },
    "0429": { code: 80002, message: "There have been too many calls to this Instagram account.", once: true },
  },
};

/** Refuses the recipients that are there to be refused; `tried` remembers whose first try is past. */
export function meetFate({ platform, id }: Account, recipient: string, tried: Set<string>): void {
  const fate = RECIPIENT_ENDINGS[platform][recipient.slice(-4)];
  const pair = `${id} ${recipient}`;
  if (!fate || (fate.once && tried.has(pair))) return;
  tried.add(pair);
  const { code, subcode, message } = fate;
  throw new GraphError(code, `(#${code}) ${message}`, subcode === undefined ? {} : { subcode });
}
