import { createHash } from "node:crypto";
import { type Ground, newNodeId } from "../../context.ts";
import { perGround } from "../../per-sandbox.ts";

/** A file that was uploaded, or came with a message. */
export interface Media {
  id: string;
  /** The number it belongs to. */
  number: string;
  mimeType: string;
  sha256: string;
  bytes: Buffer;
}

interface Shelf {
  /** The oldest first. */
  byId: Map<string, Media>;
  weight: number;
}

const shelfOf = perGround((): Shelf => ({ byId: new Map(), weight: 0 }));

/** What is kept beside the newest file, so that a sandbox which runs for weeks does not fill the memory. */
const MOST_KEPT = 64 * 1024 * 1024;

/** A file of a few bytes takes room too. */
const weightOf = ({ bytes }: Media) => bytes.length + 1024;

export const mediaById = (ground: Ground, id: string): Media | undefined => shelfOf(ground).byId.get(id);

export function keepMedia(ground: Ground, { number, mimeType, bytes }: Omit<Media, "id" | "sha256">): Media {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const media = { id: newNodeId(), number, mimeType, sha256, bytes };
  makeRoom(ground);
  const shelf = shelfOf(ground);
  shelf.byId.set(media.id, media);
  shelf.weight += weightOf(media);
  return media;
}

function makeRoom(ground: Ground): void {
  const shelf = shelfOf(ground);
  for (const id of shelf.byId.keys()) {
    if (shelf.weight <= MOST_KEPT) return;
    dropMedia(ground, id);
  }
}

export function dropMedia(ground: Ground, id: string): void {
  const shelf = shelfOf(ground);
  const media = shelf.byId.get(id);
  if (media && shelf.byId.delete(id)) shelf.weight -= weightOf(media);
}
