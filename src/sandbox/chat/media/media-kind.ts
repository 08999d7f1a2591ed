import { randomBytes } from "node:crypto";
import { MINUTE } from "../../../runtime/durations.ts";
import type { SandboxContext } from "../../context.ts";
import type { NodeKind } from "../../node-kind.ts";
import { perSandbox } from "../../per-sandbox.ts";
import type { Call } from "../../wire/call.ts";
import { noSuchObject } from "../../wire/graph-error.ts";
import { messagingEdge } from "../edges.ts";
import { reachesNumber, senderOf } from "../numbers.ts";
import { deleteMedia, type Media, mediaById } from "./media.ts";

const TICKET_TTL_MS = 5 * MINUTE;

/** Media ids by download ticket. A ticket is removed when its URL expires. */
const ticketsOf = perSandbox(() => new Map<string, string>());

export const mediaByTicket = (context: SandboxContext, ticket: string): Media | undefined =>
  mediaById(context, ticketsOf(context).get(ticket) ?? "");

/** A file by its id: its metadata and a temporary download URL. */
export function mediaKind(context: SandboxContext): NodeKind {
  const find = (id: string) => mediaById(context, id) as Media;
  return {
    name: "media",
    owns: (node) => mediaById(context, node) !== undefined,
    reaches: (grant, node) => reachesNumber(grant, find(node).number),
    asset: (node) => senderOf(find(node).number).waba.id,
    edges: {
      GET: messagingEdge((call) => describeMedia(context, checkMediaNumber(call, find(call.node)))),
      DELETE: messagingEdge((call) => {
        deleteMedia(context, checkMediaNumber(call, find(call.node)).id);
        return { success: true };
      }),
    },
  };
}

function checkMediaNumber({ method, node, params }: Call, media: Media): Media {
  if ((params.text("phone_number_id") ?? media.number) !== media.number) throw noSuchObject(method, node);
  return media;
}

function describeMedia(context: SandboxContext, { id, mimeType, sha256, bytes }: Media): unknown {
  const ticket = randomBytes(12).toString("hex");
  const tickets = ticketsOf(context);
  tickets.set(ticket, id);
  context.schedule(TICKET_TTL_MS, () => tickets.delete(ticket));
  return {
    url: `${context.mediaOrigin()}/media/${id}?ticket=${ticket}`,
    mime_type: mimeType,
    sha256,
    file_size: String(bytes.length), // a text, as in the platform's documentation
    id,
    messaging_product: "whatsapp",
  };
}
