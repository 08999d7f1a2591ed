import { type DependencyContainer, instanceCachingFactory } from "tsyringe";
import type { EventPoster } from "../delivery/post-event.ts";
import type { Destinations, Resolver } from "../delivery/ssrf-guard.ts";
import type { ImageDecoder } from "../domain/ads/base64-images.ts";
import type { OpenStreams } from "../domain/events/stream/open-streams.ts";
import type { CredentialCaches, CredentialScheme } from "../http/credentials.ts";
import type { Gate } from "../http/pipeline.ts";
import type { BodyMemory } from "../http/request/body-memory.ts";
import type { Route } from "../http/route.ts";
import type { HttpServer } from "../http/server.ts";
import type { Platforms } from "../platforms/platforms.ts";
import type { RedisClient } from "../queue/redis.ts";
import type { RedisStateWorker } from "../queue/redis-state.ts";
import type { EventNotifier, MessageNotifier } from "../queue/wake-ups.ts";
import type { Config } from "../runtime/config/config.ts";
import type { Log } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Worker } from "../runtime/supervise.ts";
import type { Watchdog } from "../runtime/watchdog.ts";
import type { ConsoleCookie } from "../security/console-cookie.ts";
import type { Passwords } from "../security/passwords.ts";
import type { SecretBox } from "../security/secret-box.ts";
import type { SignInLimiter } from "../security/sign-in-limits.ts";
import type { UserTokens } from "../security/user-tokens.ts";
import type { Database } from "../store/database/database.ts";
import type { MigrationCheck } from "../store/database/migrations.ts";

/** A typed key in the container. */
export type Token<T> = symbol & { readonly provides?: T };

const token = <T>(name: string): Token<T> => Symbol(name);

export const CONFIG = token<Config>("config");
export const LOG = token<Log>("log");
export const METRICS = token<Metrics>("metrics");
export const WATCHDOG = token<Watchdog>("watchdog");
export const DATABASE = token<Database>("database");
/** A connection of its own for the readiness of the process: it does not wait for requests. */
export const DATABASE_PROBE = token<Database>("database probe");
export const MIGRATION_CHECK = token<MigrationCheck>("migration check");
export const REDIS = token<RedisClient>("redis");
export const REDIS_STATE = token<RedisStateWorker>("redis state");
export const PASSWORDS = token<Passwords>("passwords");
export const SECRET_BOX = token<SecretBox>("secret box");
export const USER_TOKENS = token<UserTokens>("user tokens");
export const SIGN_IN_LIMITER = token<SignInLimiter>("sign-in limiter");
export const CONSOLE_COOKIE = token<ConsoleCookie>("console cookie");
export const CREDENTIAL_CACHES = token<CredentialCaches>("credential caches");
/** The addresses to which events may be delivered. */
export const DESTINATIONS = token<Destinations>("destinations");
/** Resolves the host names of destinations. */
export const RESOLVER = token<Resolver>("resolver");
/** The hash tags of the keys in Redis. */
export const TAGS = token<readonly number[]>("tags");
/** Writes wake-ups for recorded events. */
export const EVENT_NOTIFIER = token<EventNotifier & Worker>("event notifier");
/** Writes wake-ups for accepted messages. */
export const MESSAGE_NOTIFIER = token<MessageNotifier & Worker>("message notifier");
/** The memory for request bodies. */
export const BODY_MEMORY = token<BodyMemory>("body memory");
/** Decodes image uploads in threads. */
export const IMAGE_THREADS = token<ImageDecoder & Worker>("image threads");
export const PLATFORMS = token<Platforms>("platforms");
export const EVENT_STREAMS = token<OpenStreams>("event streams");
export const EVENT_POSTER = token<EventPoster>("event poster");
export const ROUTES = token<readonly Route[]>("routes");
export const CREDENTIALS = token<readonly CredentialScheme[]>("credentials");
export const GATES = token<Readonly<Record<string, Gate>>>("gates");
/** Aborted when the process begins to stop: waiting requests then answer with what they have. */
export const STOPPING = token<AbortController>("stopping");
/** Milliseconds without traffic after which idle connections are closed at shutdown. */
export const IDLE_GRACE_MS = token<number>("idle grace");
export const HTTP_SERVER = token<HttpServer>("http server");
/** The workers of the process in start order. */
export const WORKERS = token<readonly Worker[]>("workers");

/** Registers a singleton that is created at its first use. */
export function provide<T>(
  container: DependencyContainer,
  name: Token<T>,
  make: (container: DependencyContainer) => T,
): void {
  container.register<T>(name, { useFactory: instanceCachingFactory(make) });
}

export const resolve = <T>(container: DependencyContainer, name: Token<T>): T => container.resolve<T>(name);

/** The parts that a table of tokens stands for, under the same names. */
export type Resolved<T> = { [K in keyof T]: T[K] extends Token<infer V> ? V : never };

/** Resolves the parts of a process or of a factory, which then takes them as plain arguments. */
export const resolveAll = <T extends Record<string, Token<unknown>>>(
  container: DependencyContainer,
  tokens: T,
): Resolved<T> =>
  Object.fromEntries(
    Object.entries(tokens).map(([name, token]) => [name, resolve(container, token)]),
  ) as Resolved<T>;
