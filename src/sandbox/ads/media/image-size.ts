/** The size from an image's header. */
export interface ImageSize {
  width?: number;
  height?: number;
}

interface Format {
  signature: string;
  size(bytes: Buffer): ImageSize;
}

const FORMATS: readonly Format[] = [
  {
    signature: "89504e470d0a1a0a",
    size: (png) => ({ width: png.readUInt32BE(16), height: png.readUInt32BE(20) }),
  },
  { signature: "ffd8ff", size: jpegSize },
  { signature: "47494638", size: (gif) => ({ width: gif.readUInt16LE(6), height: gif.readUInt16LE(8) }) },
  { signature: "424d", size: () => ({}) },
];

/** Undefined when the bytes are not an image; without a size when the header does not give one. */
export function imageSize(bytes: Buffer): ImageSize | undefined {
  const start = bytes.subarray(0, 8).toString("hex");
  const format = FORMATS.find(({ signature }) => start.startsWith(signature));
  try {
    return format?.size(bytes);
  } catch (error) {
    if (error instanceof RangeError) return {};
    throw error;
  }
}

/** Finds the frame segment of a JPEG, which has the size: C0 to CF except C4, C8 and CC. */
function jpegSize(jpeg: Buffer): ImageSize {
  for (let at = 2; at + 9 < jpeg.length; at += 2 + jpeg.readUInt16BE(at + 2)) {
    const marker = jpeg.readUInt8(at + 1);
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { height: jpeg.readUInt16BE(at + 5), width: jpeg.readUInt16BE(at + 7) };
  }
  return {};
}
