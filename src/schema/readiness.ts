/** The values of the fields of `GET /readyz`. */
export const READINESS_STATUSES = ["ready", "degraded", "unavailable"] as const;

export const POSTGRES_STATES = ["ok", "unavailable", "unmigrated"] as const;
export type PostgresState = (typeof POSTGRES_STATES)[number];

export const REDIS_STATES = ["ok", "unavailable", "read_only"] as const;
export type RedisState = (typeof REDIS_STATES)[number];
