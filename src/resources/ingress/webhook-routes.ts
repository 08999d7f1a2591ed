import { receive, type Tally } from "../../domain/inbound/receive.ts";
import { type Route, route } from "../../http/route.ts";
import { readWebhook } from "../../platforms/webhooks/read-webhook.ts";
import type { Asset } from "../../platforms/webhooks/reading.ts";
import type { QueueNotifier } from "../../queue/queue-notifier.ts";
import { ApiError } from "../../runtime/errors.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import { type JsonSource, openJson } from "../../runtime/json/json-source.ts";
import type { Log } from "../../runtime/logging/log.ts";
import type { Metrics } from "../../runtime/metrics/metrics.ts";
import { anyQuery } from "../../schema/types.ts";
import type { AppSignatures } from "../../security/app-signatures.ts";
import { isSameText } from "../../security/same-text.ts";
import type { Database } from "../../store/database/database.ts";
import { handshake, taken } from "./schema.ts";

/** The platforms send up to 3 MB. */
const LIMIT = 4 * 1_048_576;

export interface DoorParts {
  db: Database;
  doorbell: QueueNotifier;
  signatures: AppSignatures;
  verifyToken: string;
  log: Log;
  metrics: Metrics;
}

/** The one door of all platforms. */
export function doorRoutes(parts: DoorParts): Route[] {
  const { signatures, verifyToken, log } = parts;
  return [
    route({
      method: "get",
      path: "/platform/webhook",
      scope: "public",
      summary: "The platform's handshake",
      description: "Echoes `hub.challenge` where `hub.verify_token` is the one that was agreed on.",
      errors: ["invalid_verify_token"],
      query: handshake,
      reply: { mediaType: "text/plain; charset=utf-8" },
      handle({ query }) {
        const isRight = isSameText(query["hub.verify_token"] ?? "", verifyToken);
        if (query["hub.mode"] === "subscribe" && isRight) return query["hub.challenge"] ?? "";
        throw new ApiError("invalid_verify_token", "This is not the verify token of the app");
      },
    }),
    route({
      method: "post",
      path: "/platform/webhook",
      scope: "public",
      summary: "What the platforms tell",
      description:
        "Signed by the platform in `X-Hub-Signature-256` over the bytes of the body. Answered once every event in it is written down.",
      errors: ["unauthorized", "temporarily_unavailable"],
      query: anyQuery,
      body: { limit: LIMIT },
      reply: taken,
      async handle({ body, header, requestId }) {
        if (!signatures.isSigned(body, header("x-hub-signature-256")))
          throw new ApiError("unauthorized", "The signature is not the platform's");
        const began = performance.now();
        const content = readWebhook(opened(body, requestId, log));
        const { tally, strangers } = await receive(parts, content);
        report(parts, content.object, tally);
        const ms = Math.round(performance.now() - began);
        log.info("webhook.received", {
          request_id: requestId,
          object: content.object,
          ...tally,
          ...(strangers.length > 0 ? { strangers: namesOf(strangers) } : {}),
          bytes: body.length,
          ms,
        });
        return { received: true as const };
      },
    }),
  ];
}

/** Rightly signed and yet not readable is worth a look, for it will come again for days. */
function opened(body: Buffer, requestId: string, log: Log): JsonSource {
  try {
    const webhook = openJson(body.toString("utf8"));
    if (webhook.text.startsWith("{")) return webhook;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  log.warn("webhook.unreadable", { request_id: requestId, bytes: body.length });
  throw new ApiError("validation_failed", "The body must be a JSON object");
}

const MOST_NAMED = 5;

/** What was nobody's, for whoever asks why nothing arrives. Only what looks like an id is repeated in the log. */
function namesOf(strangers: readonly Asset[]): string {
  const names = strangers.map(({ kind, id }) => `${kind} ${isPlatformId(id) ? id : "?"}`);
  return [...new Set(names)].slice(0, MOST_NAMED).join(", ");
}

const OUTCOMES = ["recorded", "duplicate", "foreign", "silent"] as const;

function report({ metrics }: DoorParts, object: string, tally: Tally): void {
  for (const outcome of OUTCOMES)
    if (tally[outcome] > 0) metrics.platformUpdates.inc({ object, outcome }, tally[outcome]);
}
