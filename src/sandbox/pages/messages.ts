import { randomBytes } from "node:crypto";
import { type Ground, newNodeId } from "../context.ts";
import type { Edge } from "../node-kind.ts";
import { perGround } from "../per-sandbox.ts";
import { counted, usageHeaders } from "../usage.ts";
import type { Call } from "../wire/call.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import type { Params } from "../wire/params.ts";
import { type Account, accountOf, checkPageToken, pageIn } from "./accounts.ts";
import { meetFate } from "./magic.ts";
import { checkAction, checkManner, readContent, readRecipient } from "./message-rules.ts";
import { isPhotoPerson } from "./people.ts";
import { followUp } from "./receipts.ts";

export const newMid = (): string => `m_${randomBytes(24).toString("base64url")}`;

const triedOf = perGround(() => new Set<string>());

/** Sends from the page that is spoken to, or from its photo account to a person who is there. */
export const pageMessages = (ground: Ground): Edge => ({
  scopes: ["pages_messaging"],
  usage: "messenger",
  answer: (call) => send(ground, senderFor(ground, accountOf(call.node), call.params), call),
});

export const instagramMessages = (ground: Ground): Edge => ({
  scopes: ["instagram_manage_messages"],
  usage: "instagram",
  answer: (call) => send(ground, accountOf(call.node), call),
});

/** Sends from the page whose token it is: `me` with a page's token is the page. */
export const meMessages = (ground: Ground): Edge => ({
  ...pageMessages(ground),
  answer(call) {
    checkPageToken(call.grant);
    return send(ground, senderFor(ground, accountOf(pageIn(call.grant)), call.params), call);
  },
});

/** One edge serves both platforms: whom a page writes to decides. */
function senderFor(ground: Ground, page: Account, params: Params): Account {
  const recipient = readRecipient(params);
  const photo = page.page.instagram;
  return photo && "id" in recipient && isPhotoPerson(ground, recipient.id) ? accountOf(photo.id) : page;
}

/** It counts for whoever sends, which the address alone does not tell. */
const send = (ground: Ground, account: Account, call: Call): unknown =>
  counted(usageHeaders(account.platform, account.id), () => sent(ground, account, call));

function sent(ground: Ground, account: Account, { grant, params }: Call): unknown {
  checkPageToken(grant);
  checkManner(params, account);
  const recipient = readRecipient(params);
  const message = params.object("message");
  if ((message === undefined) === !params.has("sender_action"))
    throw invalidParameter("Exactly one of the parameters message and sender_action is required.");
  if (!message) checkAction(params);
  const content = message && readContent(message, account);
  // Whoever wrote a comment has an id that the answer tells; it is made up, and its ending means nothing.
  const person = "id" in recipient ? recipient.id : newNodeId();
  if ("id" in recipient) meetFate(account, person, triedOf(ground));
  if (!content) return { recipient_id: person };
  const mid = newMid();
  followUp(ground, account, { mid, person, content });
  return { recipient_id: person, message_id: mid };
}
