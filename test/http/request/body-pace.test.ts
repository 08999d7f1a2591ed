import t from "tap";
import { createBodyPace } from "../../../src/http/request/body-pace.ts";
import { isRawBody, route } from "../../../src/http/route.ts";
import { productRoutes } from "../../fixtures/http/api.ts";
import { startSmallApp } from "../../fixtures/http/small-app.ts";

const MIB = 1_048_576;

t.test("a burst is read at once, and continuous bodies at a limited rate", async (t) => {
  let now = 0;
  const pace = createBodyPace(() => now);
  for (let read = 0; read < 10; read++) t.equal(pace.delayAfter(MIB), 0, "one large body is not delayed");
  const delay = pace.delayAfter(MIB);
  t.ok(delay > 45 && delay < 55, "a further megabyte waits for its time at 20 MiB per second");
  let readBytes = 0;
  for (; now < 10_000; readBytes += 65_536) now += pace.delayAfter(65_536);
  t.ok(readBytes > 180 * MIB && readBytes < 220 * MIB, `${readBytes / MIB} MiB in 10 seconds`);
  now += 60_000;
  t.equal(pace.delayAfter(10 * MIB), 0, "a pause allows one more burst");
  t.ok(pace.delayAfter(MIB) > 0, "and not several");
});

t.test("only a paced body is delayed, and it arrives whole", async (t) => {
  const upload = (path: string, body: { limit: number; isPaced?: true }) =>
    route({
      method: "post",
      path,
      summary: "Return the length of the body",
      scope: "public",
      body,
      reply: { mediaType: "text/plain" },
      handle: ({ body }) => String(body.length),
    });
  let countedBytes = 0;
  const delayAfter = (bytes: number) => {
    countedBytes += bytes;
    return 1;
  };
  const routes = [upload("/paced", { limit: MIB, isPaced: true }), upload("/other", { limit: MIB })];
  const { address } = await startSmallApp(t, routes, { bodyPace: { delayAfter } });
  const send = async (path: string) =>
    (await fetch(address + path, { method: "POST", body: Buffer.alloc(MIB) })).text();
  t.equal(await send("/other"), String(MIB));
  t.equal(countedBytes, 0);
  t.equal(await send("/paced"), String(MIB));
  t.equal(countedBytes, MIB);
});

t.test("webhooks of the platforms are not delayed by uploads", async (t) => {
  const paced = productRoutes().filter(({ body }) => isRawBody(body) && body.isPaced);
  t.same(
    paced.map(({ path }) => path),
    ["/api/marketing/images"],
  );
});
