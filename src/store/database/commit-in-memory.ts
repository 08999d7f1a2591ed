/**
 * SQL: always true. The statement's transaction then commits without waiting for the disk. For writes that may be lost when
 * Postgres crashes; a later commit that waits saves them too.
 */
export const COMMIT_IN_MEMORY = "(select set_config('synchronous_commit', 'off', true)) is not null";
