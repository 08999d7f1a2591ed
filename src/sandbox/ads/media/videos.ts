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

const PHASES: Record<string, object> = {
  processing: { processing_progress: 40, processing_phase: { status: "in_progress" } },
  ready: { processing_progress: 100, processing_phase: { status: "complete" } },
  error: {
    processing_phase: {
      status: "error",
      errors: [{ code: 1363008, message: "The video file you tried to upload could not be read." }],
    },
  },
};

export function showVideo({ id, account, created, values }: AdObject, { params }: Call): unknown {
  const { video_status, ...rest } = values;
  const status = { video_status, ...PHASES[String(video_status)] };
  const stamp = formatTimeIn(account.timezone_name, created);
  const fields = params.words("fields");
  checkFields(fields, "Video", ["status", "title", "description", "created_time", "updated_time"]);
  return project({ id, ...rest, status, created_time: stamp, updated_time: stamp }, fields, ["updated_time"]);
}
