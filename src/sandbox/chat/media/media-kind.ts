import { randomBytes } from "node:crypto";
import { MINUTE } from "../../../runtime/durations.ts";
import type { Ground } from "../../context.ts";
import type { NodeKind } from "../../node-kind.ts";
import { perGround } from "../../per-sandbox.ts";
import type { Call } from "../../wire/call.ts";
import { noSuchObject } from "../../wire/graph-error.ts";
import { reachesNumber, senderOf } from "../numbers.ts";
import { messaging } from "../scopes.ts";
import { dropMedia, type Media, mediaById } from "./media.ts";

const TICKET_LIVES = 5 * MINUTE;

/** Which addresses still open a file. */
const ticketsOf = perGround(() => new Map<string, string>());

export const mediaByTicket = (ground: Ground, ticket: string): Media | undefined =>
  mediaById(ground, ticketsOf(ground).get(ticket) ?? "");

/** A file by its id: what it is, and where it lies for the next minutes. */
export function mediaKind(ground: Ground): NodeKind {
  const find = (id: string) => mediaById(ground, id) as Media;
  return {
    name: "media",
    owns: (node) => mediaById(ground, node) !== undefined,
    reaches: (grant, node) => reachesNumber(grant, find(node).number),
    asset: (node) => senderOf(find(node).number).waba.id,
    edges: {
      GET: messaging((call) => describe(ground, ofNumber(call, find(call.node)), call)),
      DELETE: messaging((call) => {
        dropMedia(ground, ofNumber(call, find(call.node)).id);
        return { success: true };
      }),
    },
  };
}

function ofNumber({ method, node, params }: Call, media: Media): Media {
  if ((params.text("phone_number_id") ?? media.number) !== media.number) throw noSuchObject(method, node);
  return media;
}

function describe(ground: Ground, { id, mimeType, sha256, bytes }: Media, { address }: Call): unknown {
  const ticket = randomBytes(12).toString("hex");
  const tickets = ticketsOf(ground);
  tickets.set(ticket, id);
  ground.later(TICKET_LIVES, () => tickets.delete(ticket));
  return {
    url: `${new URL(address).origin}/media/${id}?ticket=${ticket}`,
    mime_type: mimeType,
    sha256,
    file_size: bytes.length,
    id,
    messaging_product: "whatsapp",
  };
}
