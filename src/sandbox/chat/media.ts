import { createHash, randomBytes } from "node:crypto";
import { MINUTE } from "../../runtime/durations.ts";
import { newNodeId, perSandbox, type SandboxContext } from "../context.ts";
import { bearerTokenOf } from "../graph/graph.ts";
import { GraphError, invalidParameter, noSuchObject } from "../graph/graph-error.ts";
import { type Call, type NodeKind, Reply } from "../graph/node.ts";
import { tokenErrorOf } from "../graph/tokens.ts";
import type { SandboxRequest, SandboxRoute } from "../server/routes.ts";
import { chatError, checkProduct } from "./chat-error.ts";
import { messagingEdge, reachesNumber, senderOf } from "./numbers.ts";

/** A file that was uploaded or received with a message. */
interface Media {
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

function deleteMedia(context: SandboxContext, id: string): void {
  const store = mediaStoreOf(context);
  const media = store.byId.get(id);
  if (media && store.byId.delete(id)) store.totalBytes -= storedBytesOf(media);
}

const KB = 1024;
const MB = 1024 * KB;

type SizeLimit = (bytes: Buffer) => number;

const fixedLimit =
  (maxBytes: number): SizeLimit =>
  () =>
    maxBytes;

/** Animated stickers, which have an ANIM chunk, may be larger than static ones. */
const stickerLimit: SizeLimit = (bytes) => (bytes.includes("ANIM") ? 500 * KB : 100 * KB);

/** Accepted file types with their size limits; the first matching row applies. */
const SIZE_LIMITS: readonly (readonly [pattern: RegExp, limit: SizeLimit])[] = [
  [/^image\/(jpeg|png)$/, fixedLimit(5 * MB)],
  [/^image\/webp$/, stickerLimit],
  [/^audio\/(aac|amr|mpeg|mp4|ogg)$/, fixedLimit(16 * MB)],
  [/^video\/(mp4|3gpp)$/, fixedLimit(16 * MB)],
  [/^(text\/plain|application\/(pdf|msword|vnd\.[\w.-]+))$/, fixedLimit(100 * MB)],
];

export function uploadMedia(context: SandboxContext, { node, params }: Call): unknown {
  checkProduct(params);
  const mimeType = params.requiredText("type").split(";")[0] as string;
  const { bytes } = params.file("file") ?? missingFile();
  const maxBytes = SIZE_LIMITS.find(([pattern]) => pattern.test(mimeType))?.[1](bytes);
  if (maxBytes === undefined)
    throw invalidParameter(`Param file must be a file with one of the supported types, not ${mimeType}`);
  if (bytes.length === 0 || bytes.length > maxBytes)
    throw chatError(
      131053,
      `A file of type ${mimeType} must have 1 to ${maxBytes} bytes, not ${bytes.length}.`,
    );
  return { id: storeMedia(context, { number: node, mimeType, bytes }).id };
}

function missingFile(): never {
  throw invalidParameter("The parameter file is required.");
}

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

/** Downloads files. A URL is valid for minutes and only together with a token. */
export const mediaRoutes = (context: SandboxContext): SandboxRoute[] => [
  { method: "GET", path: "/media/*", answer: (request) => download(context, request) },
];

function download(context: SandboxContext, { url, headers }: SandboxRequest): Reply {
  const media = mediaByTicket(context, url.searchParams.get("ticket") ?? "");
  if (!media || url.pathname !== `/media/${media.id}`)
    throw new GraphError(100, "The URL of this file has expired", { status: 404 });
  checkAccess(context, media, headers.authorization);
  return new Reply(media.bytes, { headers: { "content-type": media.mimeType } });
}

function checkAccess(context: SandboxContext, { number }: Media, authorization: string | undefined): void {
  const token = bearerTokenOf(authorization) ?? "";
  const grant = context.tokens.read(token);
  if (!grant || !reachesNumber(grant, number))
    throw new GraphError(190, "Invalid OAuth access token", { status: 401 });
  const tokenError = tokenErrorOf(context, token, grant);
  if (tokenError) throw tokenError;
}
