import { createHash } from "node:crypto";
import { newNodeId, type SandboxContext } from "../../context.ts";
import { perSandbox } from "../../per-sandbox.ts";

/** A file that was uploaded or received with a message. */
export interface Media {
  id: string;
  /** The number it belongs to. */
  number: string;
  mimeType: string;
  readonly sha256: string;
  bytes: Buffer;
}

interface MediaStore {
  /** In insertion order: the oldest is evicted first. */
  byId: Map<string, Media>;
  totalBytes: number;
}

const mediaStoreOf = perSandbox((): MediaStore => ({ byId: new Map(), totalBytes: 0 }));

/** Limits the bytes stored besides the newest file, so that a long run does not exhaust the memory. */
const MAX_STORED_BYTES = 64 * 1024 * 1024;

/** Adds a fixed overhead, so that many tiny files are limited too. */
const storedBytesOf = ({ bytes }: Media) => bytes.length + 1024;

export const mediaById = (context: SandboxContext, id: string): Media | undefined =>
  mediaStoreOf(context).byId.get(id);

export function storeMedia(
  context: SandboxContext,
  { number, mimeType, bytes }: Omit<Media, "id" | "sha256">,
): Media {
  const media = {
    id: newNodeId(),
    number,
    mimeType,
    bytes,
    /** Computed on demand: most uploaded files are never described. */
    get sha256() {
      return createHash("sha256").update(bytes).digest("hex");
    },
  };
  evictOldest(context);
  const store = mediaStoreOf(context);
  store.byId.set(media.id, media);
  store.totalBytes += storedBytesOf(media);
  return media;
}

function evictOldest(context: SandboxContext): void {
  const store = mediaStoreOf(context);
  for (const id of store.byId.keys()) {
    if (store.totalBytes <= MAX_STORED_BYTES) return;
    deleteMedia(context, id);
  }
}

export function deleteMedia(context: SandboxContext, id: string): void {
  const store = mediaStoreOf(context);
  const media = store.byId.get(id);
  if (media && store.byId.delete(id)) store.totalBytes -= storedBytesOf(media);
}
