import { createHash } from "node:crypto";
import { type Ground, newNodeId } from "../../ground.ts";
import { perGround } from "../../per-ground.ts";

/** A file that was uploaded, or came with a message. */
export interface Media {
  id: string;
  /** The number it belongs to. */
  number: string;
  mimeType: string;
  sha256: string;
  bytes: Buffer;
}

const shelfOf = perGround(() => new Map<string, Media>());

export const mediaById = (ground: Ground, id: string): Media | undefined => shelfOf(ground).get(id);

export function keepMedia(ground: Ground, { number, mimeType, bytes }: Omit<Media, "id" | "sha256">): Media {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const media = { id: newNodeId(), number, mimeType, sha256, bytes };
  shelfOf(ground).set(media.id, media);
  return media;
}

export const dropMedia = (ground: Ground, id: string): void => void shelfOf(ground).delete(id);
