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

/** Sends from the addressed page, or from its photo account when the recipient is on the photo platform. */
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

/** Sends from the page of the token: `me` with a page token is the page. */
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

/** Chooses the sending account by the recipient, because one edge serves both platforms. */
function senderAccountFor(context: SandboxContext, page: Account, params: Params): Account {
  const recipient = readRecipient(params);
  const photoAccount = page.page.instagram;
  return photoAccount && "id" in recipient && isPhotoPerson(context, recipient.id)
    ? accountOf(photoAccount.id)
    : page;
}

/** Counts the call against the sending account's quota, which the URL alone does not determine. */
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
  // The author of a comment gets a generated id, whose ending must not count as a magic value.
  const person = "id" in recipient ? recipient.id : newNodeId();
  if ("id" in recipient) throwMagicRefusal(account, person, triedPairsOf(context));
  if (!content) return { recipient_id: person };
  const mid = newMid();
  scheduleReceipts(context, account, { mid, person, content });
  return { recipient_id: person, message_id: mid };
}
