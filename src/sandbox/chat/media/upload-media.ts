import type { SandboxContext } from "../../context.ts";
import type { Call } from "../../wire/call.ts";
import { invalidParameter } from "../../wire/graph-error.ts";
import { chatError } from "../chat-error.ts";
import { checkProduct } from "../product.ts";
import { storeMedia } from "./media.ts";

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
