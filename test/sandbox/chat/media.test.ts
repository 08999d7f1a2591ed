import { createHash } from "node:crypto";
import t from "tap";
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

t.test("an uploaded file is described, and fetched with the token", async (t) => {
  const { base, origin } = await startSandbox(t);
  const uploaded = await upload(base);
  t.same(Object.keys(uploaded.body), ["id"]);
  const { id } = uploaded.body;
  const query = { phone_number_id: PHONE_NUMBER_ID };
  const { body } = await callSandbox(`${base}/${id}`, { token, query });
  t.match(body.url, `${origin}/media/${id}?`);
  t.same(body, {
    url: body.url,
    mime_type: "image/png",
    sha256: createHash("sha256").update(PICTURE).digest("hex"),
    file_size: PICTURE.length,
    id,
    messaging_product: "whatsapp",
  });
  const answer = await download(body.url, token);
  t.equal(answer.headers.get("content-type"), "image/png");
  t.same(Buffer.from(await answer.arrayBuffer()), PICTURE);
});

t.test("the address alone opens nothing", async (t) => {
  const { base, origin } = await startSandbox(t);
  const { id } = (await upload(base)).body;
  const { url } = (await callSandbox(`${base}/${id}`, { token })).body;
  t.equal((await download(url)).status, 401);
  t.equal((await download(url, "EAASomething")).status, 401);
  t.equal((await download(url, otherToken)).status, 401, "of somebody else");
  const expiredToken = issueToken({ assets: [WABA_ID], expires: 1_000 });
  t.equal((await download(url, expiredToken)).status, 401, "that has expired");
  t.equal((await download(`${origin}/media/${id}?ticket=guessed`, token)).status, 404);
  t.equal((await download(`${origin}/media/${id}`, token)).status, 404);
  t.equal((await download(url.replace(id, `${id}1`), token)).status, 404);
});

t.test("the address is good for five minutes", async (t) => {
  const { base } = await startSandbox(t); // of its time, which are three seconds of ours
  const { id } = (await upload(base)).body;
  const { url } = (await callSandbox(`${base}/${id}`, { token })).body;
  t.equal((await download(url, token)).status, 200);
  await until("the end of the address", async () => (await download(url, token)).status === 404);
  t.equal((await callSandbox(`${base}/${id}`, { token })).status, 200, "and can be asked for again");
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

t.test("a deleted file is gone", async (t) => {
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
  "of a sound with its codec": [{ type: "audio/ogg; codecs=opus" }, "200"],
  "of the largest picture": [{ file: bytes(5 * MB) }, "200"],
  "of a document larger than a picture": [{ type: "application/pdf", file: bytes(6 * MB) }, "200"],
  "without a product": [{ product: undefined }, "400 100"],
  "without a type": [{ type: undefined }, "400 100"],
  "without a file": [{ file: undefined }, "400 100"],
  "of a program": [{ type: "application/x-sh" }, "400 100"],
  "of nothing": [{ file: bytes(0) }, "400 131053"],
  "of a picture that is too large": [{ file: bytes(5 * MB + 1) }, "400 131053"],
  "of the largest sticker that stands still": [{ type: "image/webp", file: bytes(100 * KB) }, "200"],
  "of a larger sticker that stands still": [{ type: "image/webp", file: bytes(100 * KB + 1) }, "400 131053"],
  "of the largest sticker that moves": [{ type: "image/webp", file: animatedSticker(500 * KB) }, "200"],
  "of a larger sticker that moves": [
    { type: "image/webp", file: animatedSticker(500 * KB + 1) },
    "400 131053",
  ],
  "of a film that is too large": [{ type: "video/mp4", file: bytes(16 * MB + 1) }, "400 131053"],
};

t.test("files are not kept without end: the oldest are forgotten beyond 64 MiB", async (t) => {
  const { base } = await startSandbox(t);
  const small = (await upload(base)).body.id;
  const large = { type: "application/pdf", file: bytes(40 * MB) };
  const first = (await upload(base, large)).body.id;
  const second = (await upload(base, large)).body.id;
  t.equal((await callSandbox(`${base}/${small}`, { token })).status, 200);
  const third = (await upload(base, large)).body.id;
  for (const id of [small, first])
    t.equal(formatRefusal(await callSandbox(`${base}/${id}`, { token })), "400 100 33");
  for (const id of [second, third]) t.equal((await callSandbox(`${base}/${id}`, { token })).status, 200);
});

t.test("an upload is taken, or refused,", async (t) => {
  const { base } = await startSandbox(t);
  for (const [what, [parts, outcome]] of Object.entries(UPLOADS))
    t.equal(formatRefusal(await upload(base, parts)), outcome, what);
});
