import type { Ground } from "../../context.ts";
import type { Call } from "../../wire/call.ts";
import { invalidParameter } from "../../wire/graph-error.ts";
import { chatError } from "../chat-error.ts";
import { checkProduct } from "../product.ts";
import { keepMedia } from "./media.ts";

const KB = 1024;
const MB = 1024 * KB;

type Limit = (bytes: Buffer) => number;

const upTo =
  (most: number): Limit =>
  () =>
    most;

/** A sticker that moves has a chunk of this name; it may be larger than one that does not. */
const sticker: Limit = (bytes) => (bytes.includes("ANIM") ? 500 * KB : 100 * KB);

/** Which files are taken, and how large each may be: the first row that fits. */
const LIMITS: readonly (readonly [pattern: RegExp, limit: Limit])[] = [
  [/^image\/(jpeg|png)$/, upTo(5 * MB)],
  [/^image\/webp$/, sticker],
  [/^audio\/(aac|amr|mpeg|mp4|ogg)$/, upTo(16 * MB)],
  [/^video\/(mp4|3gpp)$/, upTo(16 * MB)],
  [/^(text\/plain|application\/(pdf|msword|vnd\.[\w.-]+))$/, upTo(100 * MB)],
];

export function uploadMedia(ground: Ground, { node, params }: Call): unknown {
  checkProduct(params);
  const mimeType = params.requiredText("type").split(";")[0] as string;
  const { bytes } = params.file("file") ?? missingFile();
  const most = LIMITS.find(([pattern]) => pattern.test(mimeType))?.[1](bytes);
  if (most === undefined)
    throw invalidParameter(`Param file must be a file with one of the supported types, not ${mimeType}`);
  if (bytes.length === 0 || bytes.length > most)
    throw chatError(131053, `A file of type ${mimeType} may have 1 to ${most} bytes, not ${bytes.length}.`);
  return { id: keepMedia(ground, { number: node, mimeType, bytes }).id };
}

function missingFile(): never {
  throw invalidParameter("The parameter file is required.");
}
