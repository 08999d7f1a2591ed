import type { SandboxContext } from "../../context.ts";
import type { Sender } from "../numbers.ts";
import type { Person } from "./recipient.ts";

/** The sender and recipient of a message, used by the content rules and the statuses. */
export interface SendAttempt {
  context: SandboxContext;
  sender: Sender;
  recipient: Person;
}
