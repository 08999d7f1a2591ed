import type { ImageSize } from "../../runtime/images.ts";
import type { Problem } from "../../schema/problems.ts";

export const MAX_IMAGE_BYTES = 7 * 1_048_576;

/** An image upload whose body was parsed, checked and decoded. */
export interface DecodedImage extends ImageSize {
  adAccountId: string;
  name?: string | undefined;
  /** Not a typed array: Deno enumerates every element of one when it receives it from a thread. */
  bytes: ArrayBuffer;
}

/** The result of a thread. */
export type DecodeOutcome =
  | { outcome: "decoded"; image: DecodedImage }
  | { outcome: "invalid_body"; message: string; details?: Problem[] | undefined }
  | { outcome: "invalid_base64" | "too_large" };

export interface ImageDecoder {
  /**
   * Parses and decodes the body of an upload in a thread. Takes the bytes over: `body` is empty afterwards.
   * Throws ShareRefused when too many uploads wait, or when the caller disconnects before a thread is free.
   */
  decode(body: Buffer, by: { clientId: string; signal: AbortSignal }): Promise<DecodeOutcome>;
}

const [GROUP_CHARS, GROUP_BYTES] = [4, 3];

/**
 * Decodes strict base64: no whitespace, no characters of other alphabets, correct padding. Undefined for any other text.
 * A regular expression would take ten times as long as the decoder, which skips what it does not know: then bytes are
 * missing.
 */
export function decodeBase64(text: string): Buffer | undefined {
  if (text.length % GROUP_CHARS !== 0 || !isAscii(text)) return undefined;
  if (text.includes("-") || text.includes("_")) return undefined; // the decoder accepts the alphabet of URLs too
  const lastGroup = text.slice(-GROUP_CHARS);
  // The decoder ignores superfluous bits of the last group; its canonical form has none.
  if (Buffer.from(lastGroup, "base64").toString("base64") !== lastGroup) return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.length === decodedLength(text) ? bytes : undefined;
}

/** The decoder takes other characters for those that have the same low byte. */
const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length;

function decodedLength(text: string): number {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return (text.length / GROUP_CHARS) * GROUP_BYTES - padding;
}
