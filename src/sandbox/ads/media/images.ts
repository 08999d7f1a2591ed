import { createHash } from "node:crypto";
import { imageSize } from "../../../runtime/image-size.ts";
import { AD_ACCOUNTS, type AdAccount } from "../../built-in-assets.ts";
import type { Call } from "../../wire/call.ts";
import { checkFields, project } from "../../wire/fields.ts";
import { toListPage } from "../../wire/list-page.ts";
import type { AdObject, AdObjects } from "../objects/objects.ts";
import { refuse } from "../refusals.ts";

interface UploadedImage {
  /** The key of the image in the answer. */
  key: string;
  name: string;
  bytes: Buffer;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

function readImage({ params }: Call): UploadedImage {
  const file = params.anyFile();
  if (file) return { key: file.filename, name: file.filename, bytes: file.bytes };
  const encoded = params.requiredText("bytes").replaceAll(/\s/g, "");
  if (!BASE64.test(encoded)) throw refuse("notAnImage");
  return { key: "bytes", name: params.text("name") ?? "untitled", bytes: Buffer.from(encoded, "base64") };
}

/** Adds an image to the account's library. Identical bytes give the same image. */
export function uploadImage(objects: AdObjects, account: AdAccount, call: Call): unknown {
  const { key, name, bytes } = readImage(call);
  const size = imageSize(bytes);
  if (!size) throw refuse("notAnImage");
  const hash = createHash("md5").update(bytes).digest("hex");
  const known = objects.list(account, "image").find(({ values }) => values.hash === hash);
  const { values } = known ?? objects.add("image", account, { hash, name, ...size, ...imageUrls(hash) });
  return { images: { [key]: values } };
}

const imageUrls = (hash: string) => {
  const url = `https://scontent.sandbox.example/images/${hash}`;
  return {
    url,
    url_128: `${url}?size=128`,
    url_256: `${url}?size=256`,
    url_256_height: "256",
    url_256_width: "256",
  };
};

/** Gives every account one image, so that a creative can be made without an upload. */
export function addBuiltInImages(objects: AdObjects): void {
  for (const account of AD_ACCOUNTS) {
    const { imageHash: hash } = account;
    objects.add("image", account, { hash, name: "built-in", width: 1200, height: 628, ...imageUrls(hash) });
  }
}

const FIELDS = ["account_id", "hash", "name", "url", "url_128", "width", "height", "status"];

/** Lists the library, optionally only the images with the given `hashes`. */
export function listImages(objects: AdObjects, account: AdAccount, call: Call): unknown {
  const fields = call.params.words("fields");
  checkFields(fields, "AdImage", FIELDS);
  const hashes = call.params.texts("hashes");
  const images = objects
    .list(account, "image")
    .filter(({ values }) => hashes?.includes(String(values.hash)) ?? true);
  const show = ({ values }: AdObject) =>
    project(
      { ...values, id: `${account.id}:${values.hash}`, account_id: account.id, status: "ACTIVE" },
      fields,
      ["hash"],
    );
  return toListPage(call, images, show);
}
