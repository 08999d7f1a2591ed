import t from "tap";
import { failedAs } from "../../fixtures/platforms/failures.ts";
import { DEMO_AD_ACCESS, startPlatforms } from "../../fixtures/platforms/platforms.ts";

const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

t.test("an image is uploaded as a file under any name", async (t) => {
  const context = await startPlatforms(t);
  const names = ["pixel.png", 'a "quoted" näme.png', "line\r\nbreak.png"];
  for (const name of names) {
    const image = await context.platforms.ads.media.uploadImage(DEMO_AD_ACCESS, { bytes: PIXEL, name });
    t.match(image, { hash: /^[0-9a-f]{32}$/, url: /^http/ }, name);
  }
  const [first, second] = await Promise.all(
    names.map(() => context.platforms.ads.media.uploadImage(DEMO_AD_ACCESS, { bytes: PIXEL })),
  );
  t.equal(first?.hash, second?.hash, "the same bytes have the same hash");
  t.match((await context.receivedCalls()).at(0)?.headers, {
    "content-type": /^multipart\/form-data; boundary=/,
    "content-length": /^\d+$/,
  });
});

t.test("an upload that is not an image is refused by the platform", async (t) => {
  const { platforms } = await startPlatforms(t);
  const upload = platforms.ads.media.uploadImage(DEMO_AD_ACCESS, { bytes: Buffer.from("hello") });
  await t.rejects(upload, failedAs("invalid"));
});

t.test("an upload whose connection broke can be repeated", async (t) => {
  const context = await startPlatforms(t);
  await context.arm({ kind: "drop_after" });
  const upload = () => context.platforms.ads.media.uploadImage(DEMO_AD_ACCESS, { bytes: PIXEL });
  await t.rejects(upload(), failedAs("disconnected", { retryable: true }));
  t.match(await upload(), { hash: String });
});

t.test("a video is registered by its URL, which the platform fetches", async (t) => {
  const { platforms } = await startPlatforms(t);
  const { media } = platforms.ads;
  const cup = { fileUrl: "https://shop.example/cup.mp4", name: "Cup" };
  t.match(await media.registerVideo(DEMO_AD_ACCESS, cup), /^\d+$/);
  const gone = { fileUrl: "https://unreachable.example/cup.mp4" };
  await t.rejects(
    media.registerVideo(DEMO_AD_ACCESS, gone),
    failedAs("invalid", { platformError: { code: 389 } }),
  );
});
