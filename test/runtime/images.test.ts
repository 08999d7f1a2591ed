import t from "tap";
import { imageSize } from "../../src/runtime/images.ts";
import { MIB, TINY_IMAGES } from "../fixtures/images/images.ts";

const sizeOf = (hex: string) => imageSize(Buffer.from(hex.replaceAll(" ", ""), "hex"));

t.test("the size of a file of each format is read", async (t) => {
  for (const [format, base64] of Object.entries(TINY_IMAGES))
    t.same(imageSize(Buffer.from(base64, "base64")), { width: 3, height: 2 }, format);
});

t.test("variants of the formats are read", async (t) => {
  const frame = "ffc2 0011 08 0002 0003";
  t.same(sizeOf(`ffd8 ffe0 0004 0000 ${frame}`), { width: 3, height: 2 }, "a progressive JPEG");
  t.same(
    sizeOf(`ffd8 ffffffff e0 0004 0000 ffff ${frame}`),
    { width: 3, height: 2 },
    "a JPEG with fill bytes",
  );
  t.same(sizeOf(`ffd8 ffc4 0004 0000 ${frame}`), { width: 3, height: 2 }, "a JPEG with an early table");
  const bmp = "424d 00000000 00000000 00000000";
  t.same(sizeOf(`${bmp} 0c000000 0300 0200`), { width: 3, height: 2 }, "a BMP of the oldest version");
  t.same(sizeOf(`${bmp} 28000000 03000000 feffffff`), { width: 3, height: 2 }, "a BMP from top to bottom");
});

t.test("every beginning of a file gives a size or none, and no error", async (t) => {
  for (const [format, base64] of Object.entries(TINY_IMAGES)) {
    const file = Buffer.from(base64, "base64");
    for (let length = 0; length < file.length; length++) {
      const size = imageSize(file.subarray(0, length));
      if (size !== undefined && Object.keys(size).length > 0)
        t.same(size, { width: 3, height: 2 }, `${length} bytes of ${format}`);
    }
  }
});

t.test("bytes that are not an image have no size", async (t) => {
  for (const text of ["", "hello", "%PDF-1.7 ............", "RIFF....WAVEfmt ........", "<svg></svg>"])
    t.equal(imageSize(Buffer.from(text)), undefined, text);
});

t.test("a header without a usable size gives none", async (t) => {
  t.same(sizeOf("89504e470d0a1a0a 0000000d 49484452 00000000 00000002"), {}, "a width of zero");
  t.same(sizeOf("474946383961 0000 0000"), {}, "an empty GIF");
  t.same(sizeOf("ffd8 ffda 0004 0000 ffc0 0011 08 0002 0003"), {}, "a frame after the image data");
  t.same(sizeOf("ffd8 ffd9 ffc0 0011 08 0002 0003"), {}, "a frame after the end");
  t.same(sizeOf("ffd8 ffe0 0003 00 00 0000"), {}, "no marker after a segment");
  t.same(imageSize(Buffer.from("RIFF....WEBPXXXX....................")), {}, "an unknown kind of WebP");
});

t.test("hostile headers take no longer than the file is long", async (t) => {
  const withStart = (start: string, fill: number) => {
    const file = Buffer.alloc(7 * MIB, fill);
    Buffer.from(start, "hex").copy(file);
    return file;
  };
  const segments = Buffer.alloc(7 * MIB);
  for (let at = 2; at < segments.length - 4; at += 2) segments.writeUInt16BE(0xffe0, at);
  segments.writeUInt16BE(0xffd8, 0);
  const startedAt = performance.now();
  t.same(imageSize(withStart("ffd8ff", 0xff)), {}, "only fill bytes");
  t.same(imageSize(withStart("ffd8ffe00000", 0)), {}, "a segment of length zero");
  t.same(imageSize(segments), {}, "the largest segments");
  t.ok(performance.now() - startedAt < 20_000, "quadratic time would be hours");
});
