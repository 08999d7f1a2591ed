import type { ImageSize } from "../../runtime/image-size.ts";
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
