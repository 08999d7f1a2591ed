import type { SandboxContext } from "../../context.ts";
import type { Sender } from "../numbers.ts";
import type { Person } from "./recipient.ts";

/** A message's sender and recipient, which the content rules and the statuses read beside the message itself. */
export interface SendAttempt {
  context: SandboxContext;
  sender: Sender;
  recipient: Person;
}
