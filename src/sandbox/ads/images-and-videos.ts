import { createHash } from "node:crypto";
import { imageSize } from "../../runtime/images.ts";
import { AD_ACCOUNTS, type AdAccount } from "../built-in-assets.ts";
import type { SandboxContext } from "../context.ts";
import { checkFields, project, toListPage } from "../graph/fields-and-lists.ts";
import { GraphError, invalidParameter } from "../graph/graph-error.ts";
import type { Call } from "../graph/node.ts";
import { isBroken, isUnreachable } from "../magic-values.ts";
import type { AdObject, AdObjects } from "./objects.ts";
import { refuse } from "./refusals.ts";
import { formatTimeIn } from "./values.ts";

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

const IMAGE_FIELDS = ["account_id", "hash", "name", "url", "url_128", "width", "height", "status"];

/** Lists the library, optionally only the images with the given `hashes`. */
export function listImages(objects: AdObjects, account: AdAccount, call: Call): unknown {
  const fields = call.params.words("fields");
  checkFields(fields, "AdImage", IMAGE_FIELDS);
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

/** Duration of a video's simulated processing; nothing is fetched. */
const ENCODING_DELAY_MS = 3_000;

/** Registers a video by its URL. It can be used after its processing has ended. */
export function registerVideo(context: SandboxContext, objects: AdObjects) {
  return (account: AdAccount, { params }: Call): unknown => {
    const address = params.requiredText("file_url");
    if (!/^https?:\/\/[^/]+/.test(address)) throw invalidParameter("Param file_url must be a valid URL");
    if (isUnreachable(address)) throw new GraphError(389, "(#389) Unable to fetch video file from URL.");
    const video = objects.add("video", account, {
      title: params.text("title") ?? params.text("name"),
      description: params.text("description"),
      video_status: "processing",
    });
    context.schedule(ENCODING_DELAY_MS, () => {
      video.values.video_status = isBroken(address) ? "error" : "ready";
    });
    return { id: video.id };
  };
}

/** The duration of every video, in seconds. */
const VIDEO_LENGTH_SECONDS = 15.2;

const UNREADABLE_VIDEO = { code: 1363008, message: "The video file you tried to upload could not be read." };

const VIDEO_PHASES: Record<string, object> = {
  processing: {
    processing_progress: 40,
    uploading_phase: { status: "complete" },
    processing_phase: { status: "in_progress", errors: [] },
    publishing_phase: { status: "not_started" },
  },
  ready: {
    processing_progress: 100,
    uploading_phase: { status: "complete" },
    processing_phase: { status: "complete", errors: [] },
    publishing_phase: { status: "complete" },
  },
  error: {
    uploading_phase: { status: "complete" },
    processing_phase: { status: "error", errors: [UNREADABLE_VIDEO] },
    publishing_phase: { status: "not_started" },
  },
};

export function showVideo({ id, account, created, values }: AdObject, { params }: Call): unknown {
  const { video_status, ...rest } = values;
  const status = { video_status, ...VIDEO_PHASES[String(video_status)] };
  const stamp = formatTimeIn(account.timezone_name, created);
  const fields = params.words("fields");
  const times = { created_time: stamp, updated_time: stamp };
  const shown = { id, ...rest, length: VIDEO_LENGTH_SECONDS, status, ...times };
  checkFields(fields, "Video", ["status", "title", "description", "length", ...Object.keys(times)]);
  return project(shown, fields, ["updated_time"]);
}
