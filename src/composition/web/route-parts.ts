import type { DependencyContainer } from "tsyringe";
import { createPlatformLookup } from "../../domain/channels/channel-platforms.ts";
import { createWebhookIntake } from "../../domain/inbound/webhook-intake.ts";
import { createMessageIntake } from "../../domain/messages/accept-message.ts";
import { WEBHOOK_KEY } from "../../runtime/async/large-bodies.ts";
import type { Config } from "../../runtime/config/config.ts";
import { sharedMetrics } from "../../runtime/forks.ts";
import { createAppSignatures } from "../../security/app-signatures.ts";
import { createSigner } from "../../security/derived-keys.ts";
import { createEmbedStates } from "../../security/embed-states.ts";
import { createSignedStates } from "../../security/signed-states.ts";
import {
  BODY_MEMORY,
  CONFIG,
  CONSOLE_COOKIE,
  CREDENTIAL_CACHES,
  DATABASE,
  DATABASE_PROBE,
  DESTINATIONS,
  EVENT_NOTIFIER,
  EVENT_POSTER,
  IMAGE_THREADS,
  LOG,
  MESSAGE_NOTIFIER,
  METRICS,
  MIGRATION_CHECK,
  PASSWORDS,
  PLATFORMS,
  REDIS,
  RESOLVER,
  resolve,
  SECRET_BOX,
  SIGN_IN_LIMITER,
  TAGS,
  USER_TOKENS,
} from "../tokens.ts";
import { productDocument } from "./product-document.ts";

export type RouteParts = ReturnType<typeof routeParts>;

/** The dependencies of the resources; each declares the ones it uses. None connects before its first use. */
export function routeParts(c: DependencyContainer) {
  const [settings, db, metrics] = [resolve(c, CONFIG), resolve(c, DATABASE), resolve(c, METRICS)];
  const notifier = resolve(c, EVENT_NOTIFIER);
  return {
    probe: resolve(c, DATABASE_PROBE),
    metrics,
    redis: resolve(c, REDIS),
    tags: resolve(c, TAGS),
    migrations: resolve(c, MIGRATION_CHECK),
    log: resolve(c, LOG),
    platforms: resolve(c, PLATFORMS),
    images: resolve(c, IMAGE_THREADS),
    notifier,
    poster: resolve(c, EVENT_POSTER),
    passwords: resolve(c, PASSWORDS),
    bodyMemory: resolve(c, BODY_MEMORY),
    limitAttempts: resolve(c, SIGN_IN_LIMITER),
    forgetCredential: resolve(c, CREDENTIAL_CACHES).forget,
    cookie: resolve(c, CONSOLE_COOKIE),
    secretBox: resolve(c, SECRET_BOX),
    tokens: resolve(c, USER_TOKENS),
    webhookIntake: createWebhookIntake({ db: db.forKey(WEBHOOK_KEY), notifier }),
    intake: createMessageIntake({ db: db.forKey("messages"), notifier: resolve(c, MESSAGE_NOTIFIER) }),
    platformOf: createPlatformLookup(db),
    metricsText: sharedMetrics(metrics),
    describe: () => productDocument(c),
    addresses: {
      destinations: resolve(c, DESTINATIONS),
      resolver: resolve(c, RESOLVER),
      publicUrl: settings.PUBLIC_URL,
    },
    ...signing(settings),
    settings,
    production: settings.NODE_ENV === "production",
    publicUrl: settings.PUBLIC_URL,
    verifyToken: settings.PLATFORM_VERIFY_TOKEN,
    metricsToken: settings.METRICS_TOKEN,
  };
}

/** Signatures that depend only on the settings. */
const signing = ({ ENCRYPTION_KEYS, PLATFORM_APP_SECRET }: Config) => ({
  states: createSignedStates(createSigner(ENCRYPTION_KEYS, "oauth-state")),
  embedStates: createEmbedStates(createSignedStates(createSigner(ENCRYPTION_KEYS, "embed-state"))),
  signatures: createAppSignatures(PLATFORM_APP_SECRET),
});
