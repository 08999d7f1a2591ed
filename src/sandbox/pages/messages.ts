import { randomBytes } from "node:crypto";
import { newNodeId, type SandboxContext } from "../context.ts";
import type { Edge } from "../node-kind.ts";
import { perSandbox } from "../per-sandbox.ts";
import { usageHeaders, withUsageHeaders } from "../usage.ts";
import type { Call } from "../wire/call.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import type { Params } from "../wire/params.ts";
import { type Account, accountOf, checkPageToken, pageIdOf } from "./accounts.ts";
import { throwMagicRefusal } from "./magic-values.ts";
import { checkAction, checkSendOptions, readContent, readRecipient } from "./message-rules.ts";
import { isPhotoPerson } from "./people.ts";
import { scheduleReceipts } from "./receipts.ts";

export const newMid = (): string => `m_${randomBytes(24).toString("base64url")}`;

const triedPairsOf = perSandbox(() => new Set<string>());

/** Sends from the page that is spoken to, or from its photo account to a person who is there. */
export const pageMessages = (context: SandboxContext): Edge => ({
  scopes: ["pages_messaging"],
  usage: "messenger",
  answer: (call) =>
    sendWithUsage(context, senderAccountFor(context, accountOf(call.node), call.params), call),
});

export const instagramMessages = (context: SandboxContext): Edge => ({
  scopes: ["instagram_manage_messages"],
  usage: "instagram",
  answer: (call) => sendWithUsage(context, accountOf(call.node), call),
});

/** Sends from the page whose token it is: `me` with a page's token is the page. */
export const meMessages = (context: SandboxContext): Edge => ({
  ...pageMessages(context),
  answer(call) {
    checkPageToken(call.grant);
    return sendWithUsage(
      context,
      senderAccountFor(context, accountOf(pageIdOf(call.grant)), call.params),
      call,
    );
  },
});

/** One edge serves both platforms: whom a page writes to decides. */
function senderAccountFor(context: SandboxContext, page: Account, params: Params): Account {
  const recipient = readRecipient(params);
  const photoAccount = page.page.instagram;
  return photoAccount && "id" in recipient && isPhotoPerson(context, recipient.id)
    ? accountOf(photoAccount.id)
    : page;
}

/** It counts for whoever sends, which the address alone does not tell. */
const sendWithUsage = (context: SandboxContext, account: Account, call: Call): unknown =>
  withUsageHeaders(usageHeaders(account.platform, account.id), () => sendMessage(context, account, call));

function sendMessage(context: SandboxContext, account: Account, { grant, params }: Call): unknown {
  checkPageToken(grant);
  checkSendOptions(params, account);
  const recipient = readRecipient(params);
  const message = params.object("message");
  if ((message === undefined) === !params.has("sender_action"))
    throw invalidParameter("Exactly one of the parameters message and sender_action is required.");
  if (!message) checkAction(params);
  const content = message && readContent(message, account);
  // Whoever wrote a comment has an id that the answer tells; it is made up, and its ending means nothing.
  const person = "id" in recipient ? recipient.id : newNodeId();
  if ("id" in recipient) throwMagicRefusal(account, person, triedPairsOf(context));
  if (!content) return { recipient_id: person };
  const mid = newMid();
  scheduleReceipts(context, account, { mid, person, content });
  return { recipient_id: person, message_id: mid };
}
