import { setPriority } from "node:os";
import { move, transferableSymbol, valueSymbol } from "piscina";
import { type DecodeOutcome, decodeBase64, MAX_IMAGE_BYTES } from "../../src/domain/ads/base64-images.ts";
import { ApiError } from "../../src/http/api-error.ts";
import { createJsonReader } from "../../src/http/request/input.ts";
import { type NewImage, newImage } from "../../src/resources/marketing/media/schema.ts";
import { imageSize, toTransferable } from "../../src/runtime/images.ts";
import { createValidator } from "../../src/schema/validate.ts";

/** The body of the threads that decode image uploads: parsing and decoding megabytes would block the event loop of web. */

/** A third of the processor time of the thread that serves requests. A lower priority starves beside other processes. */
const NICE = 5;
if (process.platform === "linux") setPriority(NICE); // elsewhere it would apply to the whole process

const readBody = createJsonReader({ method: "post" }, newImage, createValidator());

/** The task of the pool. */
export async function decodeImage(body: ArrayBuffer): Promise<unknown> {
  const outcome = await decode(Buffer.from(body));
  return outcome.outcome === "decoded" ? moveBytes(outcome, outcome.image.bytes) : outcome;
}

async function decode(body: Buffer): Promise<DecodeOutcome> {
  const upload = await readUpload(body);
  if ("outcome" in upload) return upload;
  const { ad_account_id: adAccountId, name, bytes_base64 } = upload;
  const bytes = decodeBase64(bytes_base64);
  if (!bytes || bytes.length === 0) return { outcome: "invalid_base64" };
  if (bytes.length > MAX_IMAGE_BYTES) return { outcome: "too_large" };
  return {
    outcome: "decoded",
    image: { adAccountId, name, ...imageSize(bytes), bytes: toTransferable(bytes) },
  };
}

/** An error crosses the thread boundary as data, because its class does not survive the copy. */
async function readUpload(body: Buffer): Promise<NewImage | Exclude<DecodeOutcome, { outcome: "decoded" }>> {
  try {
    return (await readBody(body)) as NewImage;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { outcome: "invalid_body", message: error.message, details: error.details };
  }
}

/** Transfers the bytes instead of copying them. */
const moveBytes = (value: object, bytes: ArrayBuffer) =>
  move({ [transferableSymbol]: bytes, [valueSymbol]: value });
