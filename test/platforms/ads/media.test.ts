import t from "tap";
import { ACCOUNT, startScene } from "../../fixtures/platforms/platforms.ts";

const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

t.test("an image goes as a file, whatever it is called", async (t) => {
  const scene = await startScene(t);
  const names = ["pixel.png", 'a "quoted" näme.png', "line\r\nbreak.png"];
  for (const name of names) {
    const image = await scene.platforms.ads.media.uploadImage(ACCOUNT, { bytes: PIXEL, name });
    t.match(image, { hash: /^[0-9a-f]{32}$/, url: /^http/ }, name);
  }
  const [first, second] = await Promise.all(
    names.map(() => scene.platforms.ads.media.uploadImage(ACCOUNT, { bytes: PIXEL })),
  );
  t.equal(first?.hash, second?.hash, "the same bytes have the same hash");
  t.match((await scene.received()).at(0)?.headers, {
    "content-type": /^multipart\/form-data; boundary=/,
    "content-length": /^\d+$/,
  });
});

t.test("what is no image is the platform's to refuse", async (t) => {
  const { platforms } = await startScene(t);
  const upload = platforms.ads.media.uploadImage(ACCOUNT, { bytes: Buffer.from("hello") });
  await t.rejects(upload, { code: "platform_invalid_request" });
});

t.test("an upload that was broken off may be repeated", async (t) => {
  const scene = await startScene(t);
  await scene.arm({ kind: "drop_after" });
  const upload = () => scene.platforms.ads.media.uploadImage(ACCOUNT, { bytes: PIXEL });
  await t.rejects(upload(), { code: "platform_unavailable", retryable: true });
  t.match(await upload(), { hash: String });
});

t.test("a video is fetched by the platform", async (t) => {
  const { platforms } = await startScene(t);
  const { media } = platforms.ads;
  const cup = { fileUrl: "https://shop.example/cup.mp4", name: "Cup" };
  t.match(await media.registerVideo(ACCOUNT, cup), /^\d+$/);
  const gone = { fileUrl: "https://unreachable.example/cup.mp4" };
  await t.rejects(media.registerVideo(ACCOUNT, gone), {
    code: "platform_invalid_request",
    extra: { platform_error: { code: 389 } },
  });
});
