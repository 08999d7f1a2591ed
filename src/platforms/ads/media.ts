import { VIDEO_STATUSES, type VideoStatus } from "../../schema/ad-enumerations.ts";
import { asList, asObject, formBody, multipartBody, numberOf, omitNullish, textOf } from "../bodies.ts";
import type { PlatformClient } from "../client/client.ts";
import { unusableAnswer } from "../errors/failure.ts";
import { type AdAccess, accountSender, type Ownership } from "./access.ts";

export interface UploadedImage {
  hash: string;
  url?: string;
  width?: number;
  height?: number;
  name?: string;
}

export interface AdVideo {
  id: string;
  status: VideoStatus;
  /** Percentage of the processing that is done. */
  progress: number;
  errors: { code?: number; message: string }[];
}

export interface NewVideo {
  /** The platform downloads the file from this URL. */
  fileUrl: string;
  name?: string | undefined;
  /** Runs right before the video is registered. */
  beforeCall?(): Promise<void>;
}

export interface AdMedia {
  /** Idempotent: the platform derives the hash from the bytes. */
  uploadImage(
    access: AdAccess,
    image: { bytes: Uint8Array; name?: string | undefined },
  ): Promise<UploadedImage>;
  /** Returns the video's id. */
  registerVideo(access: AdAccess, video: NewVideo): Promise<string>;
  /** The platform does not say to which account a video belongs: the caller must know it. */
  readVideo(access: AdAccess, id: string): Promise<AdVideo>;
}

export function createAdMedia(client: PlatformClient, ownership: Ownership): AdMedia {
  return {
    async uploadImage(access, { bytes, name = "image" }) {
      const file = { field: "filename", filename: name, type: "application/octet-stream", content: bytes };
      const answer = accountSender(client, access).change(`/${access.account}/adimages`, multipartBody(file));
      const { images } = await answer;
      return toImage(Object.values(asObject(images))[0]); // the key is the file's name, which the platform may change
    },
    async registerVideo(access, { fileUrl, name, beforeCall }) {
      await beforeCall?.();
      const body = formBody({ file_url: fileUrl, name });
      const { id } = await accountSender(client, access).create(`/${access.account}/advideos`, body);
      return ownership.remember(access, id);
    },
    async readVideo(access, id) {
      const { status } = await accountSender(client, access).get(`/${id}`, { fields: "status" });
      return toVideo(id, asObject(status));
    },
  };
}

function toImage(value: unknown): UploadedImage {
  const image = asObject(value);
  const hash = textOf(image.hash);
  if (hash === undefined) throw unusableAnswer("The platform accepted the image but returned no hash");
  const [url, name] = [textOf(image.url), textOf(image.name)];
  return {
    hash,
    ...omitNullish({ url, width: numberOf(image.width), height: numberOf(image.height), name }),
  };
}

const PHASES = ["uploading_phase", "processing_phase", "publishing_phase"] as const;

function toVideo(id: string, status: Record<string, unknown>): AdVideo {
  // A word that is not documented, such as an upload in progress, is not a result yet.
  const known = VIDEO_STATUSES.find((word) => word === status.video_status) ?? "processing";
  const progress = numberOf(status.processing_progress) ?? (known === "ready" ? 100 : 0);
  const errors = PHASES.flatMap((phase) => asList(asObject(status[phase]).errors).map(toVideoError));
  return { id, status: known, progress: Math.round(Math.min(100, Math.max(0, progress))), errors };
}

function toVideoError(value: unknown): AdVideo["errors"][number] {
  const { code, message } = asObject(value);
  return { ...omitNullish({ code: numberOf(code) }), message: textOf(message) ?? "No reason was given" };
}
