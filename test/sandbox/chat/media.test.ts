import { createHash } from "node:crypto";
import t from "tap";
import { MINUTE } from "../../../src/runtime/durations.ts";
import {
  mediaById,
  mediaByTicket,
  mediaKind,
  storeMedia,
  uploadMedia,
} from "../../../src/sandbox/chat/media.ts";
import type { SandboxContext } from "../../../src/sandbox/context.ts";
import type { Call, Edge } from "../../../src/sandbox/graph/node.ts";
import { Params } from "../../../src/sandbox/graph/params.ts";
import {
  DEMO_CHAT_TOKEN,
  formatRefusal,
  issueChatToken,
  issueToken,
  OTHER_WABA_ID,
  PHONE_NUMBER_ID,
  PLAIN_NUMBER_ID,
  postJson,
  WABA_ID,
} from "../../fixtures/sandbox/assets.ts";
import { callSandbox, startSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

const token = DEMO_CHAT_TOKEN;
const otherToken = issueChatToken([OTHER_WABA_ID]);
const PICTURE = Buffer.from("a picture, almost");
/** With it a download URL lasts for minutes and not for three seconds. */
const LASTING_PACE = 1;

interface UploadParts {
  type?: string | undefined;
  file?: Buffer | undefined;
  product?: string | undefined;
}

function upload(base: string, parts: UploadParts = {}) {
  const { type, file, product } = { type: "image/png", file: PICTURE, product: "whatsapp", ...parts };
  const body = new FormData();
  if (product !== undefined) body.set("messaging_product", product);
  if (type !== undefined) body.set("type", type);
  if (file !== undefined) body.set("file", new Blob([new Uint8Array(file)], { type: type ?? "" }), "file");
  return callSandbox(`${base}/${PHONE_NUMBER_ID}/media`, { token, body });
}

const download = (url: string, bearer?: string) =>
  fetch(url, { headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` } });

t.test("an uploaded file is described and can be downloaded with the token", async (t) => {
  const { base, mediaOrigin, origin } = await startSandbox(t, { pace: LASTING_PACE });
  const uploaded = await upload(base);
  t.same(Object.keys(uploaded.body), ["id"]);
  const { id } = uploaded.body;
  const query = { phone_number_id: PHONE_NUMBER_ID };
  const { body } = await callSandbox(`${base}/${id}`, { token, query });
  t.match(body.url, `${mediaOrigin}/media/${id}?`);
  t.not(mediaOrigin, origin, "files have a host of their own");
  t.strictSame(body, {
    url: body.url,
    mime_type: "image/png",
    sha256: createHash("sha256").update(PICTURE).digest("hex"),
    file_size: String(PICTURE.length),
    id,
    messaging_product: "whatsapp",
  });
  const answer = await download(body.url, token);
  t.equal(answer.headers.get("content-type"), "image/png");
  t.same(Buffer.from(await answer.arrayBuffer()), PICTURE);
  t.not((await download(body.url.replace(mediaOrigin, origin), token)).status, 200);
  t.equal((await download(`${mediaOrigin}/v26.0/${id}`, token)).status, 404, "it answers no other calls");
});

t.test("a download URL requires a valid token", async (t) => {
  const { base, mediaOrigin } = await startSandbox(t, { pace: LASTING_PACE });
  const { id } = (await upload(base)).body;
  const { url } = (await callSandbox(`${base}/${id}`, { token })).body;
  t.equal((await download(url)).status, 401);
  t.equal((await download(url, "EAASomething")).status, 401);
  t.equal((await download(url, otherToken)).status, 401, "a token without access to the number");
  const expiredToken = issueToken({ assets: [WABA_ID], expires: 1_000 });
  t.equal((await download(url, expiredToken)).status, 401, "an expired token");
  t.equal((await download(`${mediaOrigin}/media/${id}?ticket=guessed`, token)).status, 404);
  t.equal((await download(`${mediaOrigin}/media/${id}`, token)).status, 404);
  t.equal((await download(url.replace(id, `${id}1`), token)).status, 404);
});

t.test("a download URL is valid for five minutes", async (t) => {
  const { base } = await startSandbox(t, { pace: 0.001 }); // five minutes of its time take 0.3 seconds
  const { id } = (await upload(base)).body;
  const { url } = (await callSandbox(`${base}/${id}`, { token })).body;
  await until("the download URL has expired", async () => (await download(url, token)).status === 404);
  t.equal((await callSandbox(`${base}/${id}`, { token })).status, 200, "the file is still there");
});

t.test("a download ticket is removed after five minutes", async (t) => {
  const scheduled: { delayMs: number; work: () => void }[] = [];
  const context = {
    mediaOrigin: () => "http://media",
    schedule: (delayMs: number, work: () => void) => void scheduled.push({ delayMs, work }),
  } as SandboxContext;
  const media = storeMedia(context, { number: PHONE_NUMBER_ID, mimeType: "image/png", bytes: PICTURE });
  const call = { method: "GET", node: media.id, params: { text: () => undefined } } as unknown as Call;
  const describe = mediaKind(context).edges.GET as Edge;
  const { url } = describe.answer(call) as { url: string };
  const ticket = new URL(url).searchParams.get("ticket") as string;
  t.equal(mediaByTicket(context, ticket), media);
  t.same(
    scheduled.map(({ delayMs }) => delayMs),
    [5 * MINUTE],
  );
  scheduled[0]?.work();
  t.equal(mediaByTicket(context, ticket), undefined);
});

t.test("a file belongs to its number", async (t) => {
  const { base } = await startSandbox(t);
  const { id } = (await upload(base)).body;
  t.equal(formatRefusal(await callSandbox(`${base}/${id}`, { token: otherToken })), "400 100 33");
  const query = { phone_number_id: PLAIN_NUMBER_ID };
  t.equal(formatRefusal(await callSandbox(`${base}/${id}`, { token, query })), "400 100 33");
  const message = { messaging_product: "whatsapp", to: "16505551234", type: "image", image: { id } };
  t.equal((await postJson(`${base}/${PHONE_NUMBER_ID}/messages`, message)).status, 200);
  t.equal(
    formatRefusal(await postJson(`${base}/${PLAIN_NUMBER_ID}/messages`, message, otherToken)),
    "400 131009",
  );
});

t.test("a deleted file is reported as missing", async (t) => {
  const { base } = await startSandbox(t);
  const { id } = (await upload(base)).body;
  const { url } = (await callSandbox(`${base}/${id}`, { token })).body;
  t.same((await callSandbox(`${base}/${id}`, { method: "DELETE", token })).body, { success: true });
  t.equal(formatRefusal(await callSandbox(`${base}/${id}`, { token })), "400 100 33");
  t.equal((await download(url, token)).status, 404);
});

const bytes = (count: number) => Buffer.alloc(count, 1);
const KB = 1024;
const MB = 1024 * KB;
const animatedSticker = (count: number) =>
  Buffer.concat([Buffer.from("RIFFsizeWEBPVP8XANIM"), bytes(count - 20)]);

const UPLOADS: Record<string, [parts: UploadParts, outcome: string]> = {
  "an audio file with its codec": [{ type: "audio/ogg; codecs=opus" }, "200"],
  "no product": [{ product: undefined }, "400 100"],
  "no type": [{ type: undefined }, "400 100"],
  "no file": [{ file: undefined }, "400 100"],
  "a script": [{ type: "application/x-sh" }, "400 100"],
  "an empty file": [{ file: bytes(0) }, "400 131053"],
  "a static sticker of the maximum size": [{ type: "image/webp", file: bytes(100 * KB) }, "200"],
  "a static sticker above the maximum size": [
    { type: "image/webp", file: bytes(100 * KB + 1) },
    "400 131053",
  ],
  "an animated sticker of the maximum size": [{ type: "image/webp", file: animatedSticker(500 * KB) }, "200"],
  "an animated sticker above the maximum size": [
    { type: "image/webp", file: animatedSticker(500 * KB + 1) },
    "400 131053",
  ],
};

t.test("files beyond 64 MiB evict the oldest ones", async (t) => {
  const context = {} as SandboxContext;
  const store = (file: Buffer) =>
    storeMedia(context, { number: PHONE_NUMBER_ID, mimeType: "application/pdf", bytes: file }).id;
  const small = store(PICTURE);
  const large = bytes(33 * MB); // two exceed 64 MiB
  const [first, second] = [store(large), store(large)];
  t.ok(mediaById(context, small));
  const third = store(large);
  for (const id of [small, first]) t.equal(mediaById(context, id), undefined);
  for (const id of [second, third]) t.ok(mediaById(context, id));
});

t.test("an upload is accepted or refused by its type and size", async (t) => {
  const { base } = await startSandbox(t);
  for (const [what, [parts, outcome]] of Object.entries(UPLOADS))
    t.equal(formatRefusal(await upload(base, parts)), outcome, what);
});

/** Without HTTP, which takes a second for these sizes. */
function uploadDirectly(type: string, size: number): unknown {
  const values = new Map(Object.entries({ messaging_product: "whatsapp", type }));
  const params = new Params(values, new Map([["file", { filename: "file", type, bytes: bytes(size) }]]));
  return uploadMedia({} as SandboxContext, { node: PHONE_NUMBER_ID, params } as Call);
}

t.test("large files are accepted or refused by their type", async (t) => {
  const refusal = { code: 131053, status: 400 };
  t.match(uploadDirectly("image/png", 5 * MB), { id: String });
  t.throws(() => uploadDirectly("image/png", 5 * MB + 1), refusal);
  t.match(uploadDirectly("application/pdf", 6 * MB), { id: String }, "larger than an image may be");
  t.throws(() => uploadDirectly("video/mp4", 16 * MB + 1), refusal);
});
