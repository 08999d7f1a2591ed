import type { ReceiveCounts, ReceiveResult, WebhookIntake } from "../../domain/inbound/webhook-intake.ts";
import { ApiError, DATABASE_ERRORS, errorOf } from "../../http/api-error.ts";
import { type Route, route } from "../../http/route.ts";
import { readWebhook, UPDATE_LIMITS } from "../../platforms/webhooks/read-webhook.ts";
import type { Asset } from "../../platforms/webhooks/updates.ts";
import { createShares } from "../../runtime/async/shares.ts";
import {
  collectInSlices,
  largeBodies,
  MAX_INLINE_BYTES,
  nextSlice,
  WEBHOOK_KEY,
} from "../../runtime/async/time-slices.ts";
import { SECOND } from "../../runtime/durations.ts";
import { networkOf } from "../../runtime/http/addresses.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import { findExceededLimit } from "../../runtime/json/json-limits.ts";
import { type JsonSource, openJson } from "../../runtime/json/json-source.ts";
import type { Fields, Log } from "../../runtime/log.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import { anyQuery } from "../../schema/types.ts";
import { isSameText } from "../../security/secret-text.ts";
import type { AppSignatures } from "../../security/signatures-and-states.ts";
import { type DataDeletionParts, dataDeletionRoutes } from "./data-deletion-routes.ts";
import { acknowledgement, handshake } from "./schema.ts";

interface PlatformWebhookParts {
  /** Remembers the networks from which signed webhooks come. */
  bodyMemory: { addKnownSender(network: string): void };
  webhookIntake: WebhookIntake;
  signatures: AppSignatures;
  verifyToken: string;
  log: Log;
  metrics: Metrics;
}

/** The endpoints that the platforms call. */
export const ingressRoutes = (parts: PlatformWebhookParts & DataDeletionParts): Route[] => [
  ...platformWebhookRoutes(parts),
  ...dataDeletionRoutes(parts),
];

/** The platforms' webhooks have up to 3 MB. */
const MAX_WEBHOOK_BYTES = 4 * 1_048_576;
/** Any depth is accepted: one unusual update must not fail the others of its webhook. */
const JSON_LIMITS = { maxDepth: Number.POSITIVE_INFINITY, maxValues: 500_000 };

const SIGNATURE_HEADER = "x-hub-signature-256";

const notSigned = () => new ApiError("unauthorized", "X-Hub-Signature-256 is missing or wrong");

/** A large webhook that waits longer gets 503, and the platform repeats it. */
const MAX_LARGE_WAIT_MS = 10 * SECOND;

/** The webhook endpoint of all platforms. */
function platformWebhookRoutes(parts: PlatformWebhookParts): Route[] {
  const { webhookIntake, signatures, verifyToken, bodyMemory, log } = parts;
  // Parsed, a large webhook takes many times the memory of its body until it is recorded.
  const largeWebhooks = createShares({
    capacity: MAX_WEBHOOK_BYTES,
    maxWaitingPerKey: Number.POSITIVE_INFINITY, // the memory for bodies limits their number
    maxWaitMs: MAX_LARGE_WAIT_MS,
  });
  return [
    route({
      method: "get",
      path: "/platform/webhook",
      operationId: "verifyPlatformWebhook",
      scope: "public",
      summary: "Answer a platform's webhook verification",
      description:
        "Returns `hub.challenge` if `hub.mode` is `subscribe` and `hub.verify_token` is the configured token.",
      errors: ["invalid_verify_token"],
      query: handshake,
      reply: { mediaType: "text/plain; charset=utf-8" },
      handle({ query }) {
        const isTokenValid = isSameText(query["hub.verify_token"] ?? "", verifyToken);
        if (query["hub.mode"] === "subscribe" && isTokenValid) return query["hub.challenge"] ?? "";
        throw errorOf("invalid_verify_token");
      },
    }),
    route({
      method: "post",
      path: "/platform/webhook",
      operationId: "receivePlatformWebhook",
      scope: "public",
      summary: "Receive a platform's webhook",
      description:
        "The platform signs the bytes of the body in `X-Hub-Signature-256`. The response follows once every event in the body is recorded.",
      errors: ["unauthorized", ...DATABASE_ERRORS],
      query: anyQuery,
      repeatable: true,
      body: { limit: MAX_WEBHOOK_BYTES, part: "webhook" },
      checkHead({ header }) {
        if (!signatures.isSignature(header(SIGNATURE_HEADER))) throw notSigned();
      },
      reply: acknowledgement,
      async handle({ body, address, header, requestId }) {
        const isLarge = body.length > MAX_INLINE_BYTES;
        if (isLarge) await nextSlice();
        if (!signatures.isSigned(body, header(SIGNATURE_HEADER))) throw notSigned();
        const network = networkOf(address);
        bodyMemory.addKnownSender(network);
        const startedAt = performance.now();
        const parse = async () => {
          const { object, updates } = readWebhook(openWebhook(body, requestId, log));
          return { object, updates: await collectInSlices(updates) };
        };
        const parseLarge = () => largeBodies.run(WEBHOOK_KEY, 1, () => nextSlice().then(parse));
        const receive = async () => {
          const { object, updates } = await (isLarge ? parseLarge() : parse());
          return { object, result: await webhookIntake.receive({ updates, bytes: body.length }) };
        };
        const receiveLarge = () => largeWebhooks.run(network, body.length, receive);
        const { object, result } = await (isLarge ? receiveLarge() : receive());
        recordUpdates(parts, object, result.counts);
        const ms = Math.round(performance.now() - startedAt);
        logReceived(log, result, { request_id: requestId, object, bytes: body.length, ms });
        return { received: true as const };
      },
    }),
  ];
}

/** Logs a webhook that is signed but not readable: the platform will send it again for days. */
function openWebhook(body: Buffer, requestId: string, log: Log): JsonSource {
  const refuse = (message: string): never => {
    log.warn("webhook.parse_failed", { request_id: requestId, bytes: body.length });
    throw new ApiError("validation_failed", message);
  };
  // A value has at least one byte, so most bodies need no search.
  if (body.length > JSON_LIMITS.maxValues && findExceededLimit(body, JSON_LIMITS))
    refuse(`The body has more than ${JSON_LIMITS.maxValues} values`);
  try {
    const webhook = openJson(body.toString("utf8"), UPDATE_LIMITS);
    if (webhook.text.startsWith("{")) return webhook;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return refuse("The body must be a JSON object");
}

/** Collectors cut lines of more than about 8 KB; an id has 30 characters. */
const MAX_LOGGED_IDS = 100;

/** Logs the ids of all messages and events: of a large webhook in further lines. */
function logReceived(
  log: Log,
  { counts, unknownAssets, eventIds, ...result }: ReceiveResult,
  { request_id, object, ...fields }: Fields,
): void {
  const messageIds = [...result.messageIds];
  const idsFrom = (start: number) => ({
    request_id,
    message_ids: joinIds(messageIds.slice(start, start + MAX_LOGGED_IDS)),
    event_ids: joinIds(eventIds.slice(start, start + MAX_LOGGED_IDS)),
  });
  const unknown_assets = unknownAssets.length > 0 ? describeAssets(unknownAssets) : undefined;
  log.info("webhook.received", { ...idsFrom(0), object, ...counts, unknown_assets, ...fields });
  const count = Math.max(messageIds.length, eventIds.length);
  for (let start = MAX_LOGGED_IDS; start < count; start += MAX_LOGGED_IDS)
    log.info("webhook.continued", idsFrom(start));
}

const joinIds = (ids: readonly string[]): string | undefined => (ids.length > 0 ? ids.join(",") : undefined);

const MAX_LOGGED_ASSETS = 5;

/** Names unknown assets in the log, which explains missing events. Ids that look invalid appear as `?`. */
function describeAssets(unknownAssets: readonly Asset[]): string {
  const names = unknownAssets.map(({ kind, id }) => `${kind} ${isPlatformId(id) ? id : "?"}`);
  return [...new Set(names)].slice(0, MAX_LOGGED_ASSETS).join(", ");
}

const UPDATE_OUTCOMES = ["recorded", "duplicate", "unknown_asset", "ignored"] as const;

function recordUpdates({ metrics }: PlatformWebhookParts, object: string, counts: ReceiveCounts): void {
  for (const outcome of UPDATE_OUTCOMES)
    if (counts[outcome] > 0) metrics.platformUpdates.inc({ object, outcome }, counts[outcome]);
}
