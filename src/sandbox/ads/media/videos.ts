import type { AdAccount } from "../../built-in-assets.ts";
import type { SandboxContext } from "../../context.ts";
import type { Call } from "../../wire/call.ts";
import { checkFields, project } from "../../wire/fields.ts";
import { GraphError, invalidParameter } from "../../wire/graph-error.ts";
import { isBroken, isUnreachable } from "../magic-values.ts";
import type { AdObject, AdObjects } from "../objects/objects.ts";
import { formatTimeIn } from "../times.ts";

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
const LENGTH_SECONDS = 15.2;

const UNREADABLE = { code: 1363008, message: "The video file you tried to upload could not be read." };

const PHASES: Record<string, object> = {
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
    processing_phase: { status: "error", errors: [UNREADABLE] },
    publishing_phase: { status: "not_started" },
  },
};

export function showVideo({ id, account, created, values }: AdObject, { params }: Call): unknown {
  const { video_status, ...rest } = values;
  const status = { video_status, ...PHASES[String(video_status)] };
  const stamp = formatTimeIn(account.timezone_name, created);
  const fields = params.words("fields");
  const times = { created_time: stamp, updated_time: stamp };
  const shown = { id, ...rest, length: LENGTH_SECONDS, status, ...times };
  checkFields(fields, "Video", ["status", "title", "description", "length", ...Object.keys(times)]);
  return project(shown, fields, ["updated_time"]);
}
