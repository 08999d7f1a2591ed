import type { Ground } from "../../ground.ts";
import type { Call } from "../../wire/call.ts";
import { invalidParameter } from "../../wire/graph-error.ts";
import { chatError } from "../chat-error.ts";
import { checkProduct } from "../product.ts";
import { keepMedia } from "./media.ts";

const KB = 1024;
const MB = 1024 * KB;

/** Which files are taken, and how large each may be: the first row that fits. */
const LIMITS: readonly (readonly [pattern: RegExp, most: number])[] = [
  [/^image\/(jpeg|png)$/, 5 * MB],
  [/^image\/webp$/, 500 * KB],
  [/^audio\/(aac|amr|mpeg|mp4|ogg)$/, 16 * MB],
  [/^video\/(mp4|3gpp)$/, 16 * MB],
  [/^(text\/plain|application\/(pdf|msword|vnd\.[\w.-]+))$/, 100 * MB],
];

export function uploadMedia(ground: Ground, { node, params }: Call): unknown {
  checkProduct(params);
  const mimeType = params.requiredText("type").split(";")[0] as string;
  const { bytes } = params.file("file") ?? missingFile();
  const most = LIMITS.find(([pattern]) => pattern.test(mimeType))?.[1];
  if (most === undefined)
    throw invalidParameter(`Param file must be a file with one of the supported types, not ${mimeType}`);
  if (bytes.length === 0 || bytes.length > most)
    throw chatError(131053, `A file of type ${mimeType} may have 1 to ${most} bytes, not ${bytes.length}.`);
  return { id: keepMedia(ground, { number: node, mimeType, bytes }).id };
}

function missingFile(): never {
  throw invalidParameter("The parameter file is required.");
}
