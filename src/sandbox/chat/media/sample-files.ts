interface SampleFile {
  mimeType: string;
  bytes: Buffer;
  /** Further fields of a message with this file. */
  extras: Record<string, unknown>;
}

const fromBase64 = (text: string) => Buffer.from(text, "base64");

/** Sample files of inbound messages: small, but valid enough for a reader of their first bytes. */
export const SAMPLE_FILES = {
  image: {
    mimeType: "image/png",
    bytes: fromBase64(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    ),
    extras: {},
  },
  video: {
    mimeType: "video/mp4",
    bytes: fromBase64("AAAAGGZ0eXBtcDQyAAAAAG1wNDJpc29tAAAACG1kYXQ="),
    extras: {},
  },
  audio: { mimeType: "audio/ogg", bytes: Buffer.from("OggS sandbox"), extras: { voice: false } },
  document: {
    mimeType: "text/plain",
    bytes: Buffer.from("Two coffees, please.\n"),
    extras: { filename: "order.txt" },
  },
  sticker: {
    mimeType: "image/webp",
    bytes: fromBase64("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"),
    extras: { animated: false },
  },
} as const satisfies Record<string, SampleFile>;
