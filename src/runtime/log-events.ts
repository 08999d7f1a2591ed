/** Every event that a process logs, with its meaning. The type `LogEvent` rejects other names at compile time. */
export const LOG_EVENTS = {
  "ad_account.revoked": "The ad platform rejects the account's token for good; the account is now `revoked`",
  "ad_account.subscribe_failed":
    "The subscription to the account's events failed; the next token check retries it",
  "ad_account.unreachable": "A valid token no longer gives access to the account",
  "ad_connection.check_failed":
    "The token check could not check this connection; `verdict` or `err` gives the reason",
  "ad_connection.quarantined":
    "Three schedulers died while they checked this connection; it is no longer checked",
  "ad_connection.suspended":
    "The platform suspended the token; the person who granted it must act at the platform",
  "ad_object.read_failed":
    "An ad object was written but could not be read again; `verdict` or `err` gives the reason",
  "api_key.last_used_update_failed":
    "`last_used_at` of an API key could not be written; the request was not affected",
  "audit.write_failed": "An entry of the audit log could not be written; the request was not affected",
  "batch_writer.abandoned":
    "The process stopped before it wrote these outcomes; another dispatcher recovers the rows",
  "batch_writer.failed": "Outcomes cannot be written to Postgres; the writer retries until it recovers",
  "batch_writer.recovered": "Outcomes are written again",
  "breaker.closed": "A client's backend responds again; its deliveries continue",
  "breaker.opened":
    "A client's backend fails repeatedly; its deliveries wait for `ms` milliseconds. `since` is when it first opened, `failed_probes` the number of probes that failed since",
  "batch.changed": "A batch started, was paused, or ended without a request; `change` says why",
  "batch_supervision.failed": "Batches could not be started, paused or ended; it is retried every second",
  "batch_supervision.recovered": "Batches are started, paused and ended again",
  "breaker_check.failed": "The breakers of other dispatchers could not be read; it is retried every second",
  "breaker_check.recovered": "The breakers of other dispatchers are read again",
  "channel.needs_reauth":
    "The platform rejects the channel's token (`code`), or the person who granted it removed the app (no `code`); the channel's messages wait for a new token",
  "clock.agrees": "The clock of this process agrees with that of Postgres again",
  "clock.differs":
    "The clock of this process differs from that of Postgres by more than 5 s (`ms`; negative: it is ahead); its ids take the time of Postgres",
  "cron.ran": "One line per tick of a job, with `outcome`",
  "delivery.attempted": "One line per attempt to deliver an event to a client's backend",
  "delivery.lease_lost":
    "Another dispatcher reclaimed the delivery before this one wrote its outcome, or its client was deleted",
  "delivery.quarantined":
    "Five dispatchers died while they delivered this event; the delivery is `failed` until it is retried",
  "delivery.write_failed": "The outcome of one delivery could not be written; the delivery is repeated",
  "delivery_claims.failed": "Deliveries cannot be claimed in Postgres; the dispatcher retries",
  "delivery_claims.recovered": "Deliveries are claimed again",
  "delivery_recovery.failed":
    "The recovery of deliveries of dead dispatchers failed; it is retried every second",
  "delivery_recovery.recovered": "The recovery of deliveries succeeds again",
  "dispatcher.drained": "The dispatcher finished its calls at shutdown; `left` counts those that it aborted",
  "event_stream.read_failed":
    "The new events of the open streams cannot be read from Postgres; it is retried every second",
  "event_stream.read_recovered": "The new events of the open streams are read again",
  "event_stream.transaction_too_old":
    "A transaction that writes has been open for more than 10 minutes (`seconds`): streams may miss events that it commits. Logged once a minute at most, by web processes with open streams",
  "event_stream.transactions_hidden":
    "The database role may not see all transactions, so streams read the events of the last 10 minutes each time; `herald doctor` tells how to grant it. Logged once a minute at most",
  "fork.exited": "A fork of web ended unexpectedly; it is replaced",
  "fork.failed": "A fork of web could not be started or signalled",
  "heartbeat.failed": "The worker's heartbeat cannot be written; after 10 s other workers take over its work",
  "heartbeat.recovered": "The worker's heartbeat is written again",
  "heartbeat.remove_failed": "The worker's row could not be removed at shutdown; it expires",
  "heartbeat.started": "Names this process's `worker` id, which other lines refer to",
  "hold_check.failed": "The hold of the queue cannot be read from Postgres; it is retried every second",
  "hold_check.recovered": "The hold of the queue is read again",
  "http.connections_refused": "An address exceeded MAX_CONNECTIONS_PER_ADDRESS; logged once a minute at most",
  "http.drain_timed_out": "Requests were still running when web stopped",
  "http.failed":
    "A request ended in a 5xx other than `overloaded`; `err` has the stack, `error` the reason of an outage",
  "http.listening": "Web accepts connections",
  "http.parse_failed":
    "A connection sent something that is not HTTP, a CONNECT, or no complete request in time",
  "http.recovered": "A polled endpoint, such as /readyz, answers without a fault again after `http.failed`",
  "http.request": "One line per request, by route pattern",
  "image_threads.failed": "A thread that decodes images could not start; the next upload tries again",
  "insights_report.check_failed":
    "The status of an account's reports could not be read; they are checked again later. `verdict` or `err` gives the reason",
  "insights_report.quarantined":
    "Three schedulers died while they checked this report; it is no longer checked",
  "lead.fetch_failed":
    "The fields of a lead could not be fetched in time; its event is recorded without them",
  "message.abandoned": "A message failed without a further attempt; `code` gives the reason",
  "message.interrupted":
    "A dispatcher died while it sent this message; the message is `unknown`, unless a webhook has reported its status",
  "message.lease_lost":
    "The message was cancelled or another dispatcher reclaimed it before this one sent it or wrote its outcome, or its client was deleted",
  "message.sent": "One line per attempt to send a message to a platform, with `outcome`",
  "message.write_failed": "The outcome of one send could not be written; the message becomes `unknown`",
  "metrics.listening": "Metrics are served on this port",
  "migrations.applied": "The migrations that were applied",
  "migrations.completed": "The missing migrations are applied; web is ready",
  "migrations.failed": "A migration failed; nothing of it was applied",
  "migrations.missing":
    "The database lacks these migrations; web is not ready until they are applied. Logged again when they change",
  "migrations.refused":
    "The database was created before the first release and cannot be migrated; the error says what to do",
  "operation.write_failed":
    "The outcome of an operation with an Idempotency-Key could not be stored; the next request with the key checks the platform",
  "partitions.create_failed": "The table partitions of the coming days could not be created; it is retried",
  "platform.called": "One line per call to a platform; the path has no query",
  "platform.recovered": "The platform answers again; its messages are sent",
  "platform.unreachable":
    "No connection to the platform is possible; its messages wait, and one at a time tries it again",
  "postgres.close_timed_out": "Postgres connections were still in use when the process stopped",
  "postgres.connection_lost":
    "An idle connection to Postgres broke; the pool replaces it. In an outage, `postgres.failed` follows",
  "postgres.failed": "Postgres does not answer this process within two seconds, or refuses the connection",
  "postgres.pool_undersized":
    "`DATABASE_POOL` of web is below 4; one client can use the connections that the others need",
  "postgres.recovered": "Postgres answers again",
  "process.blocked":
    "The event loop was blocked for `seconds`; the watchdog ends the process. `current` is the likely cause",
  "process.failed": "The process could not start, or a worker failed for good; it exits with code 1",
  "process.ready": "The process started all its workers",
  "process.stopped": "The process stopped; the last line of a process",
  "process.stopping": "The process received a signal and finishes its work",
  "queue.held":
    "An operator holds the queue: this dispatcher starts no send and no delivery until it is released",
  "queue.released": "The queue is released; this dispatcher continues",
  "rate_limit.skipped": "Redis is unavailable; API rate limits are not enforced for a moment",
  "recovery.reclaimed": "Rows of dead workers were made due again, quarantined or marked `unknown`, by count",
  "redis.read_only":
    "Redis answers and refuses writes; events are delivered and messages sent without wake-ups",
  "redis.recovered": "Redis responds again and accepts writes",
  "redis.unavailable": "Redis does not respond; events are delivered and messages sent without wake-ups",
  "retention.postponed":
    "Rows of `table` have passed their retention and are kept, because they are still to be sent or delivered, or their batch is not finished: `rows` of them, the oldest of the day `since`. `partitions` could not be dropped because of them; their other rows are deleted",
  "sandbox.answered": "One line per request to the sandbox",
  "sandbox.listening": "The sandbox accepts connections",
  "sandbox.request_failed": "The sandbox failed on a request: a defect of the sandbox",
  "send_claims.failed": "Messages cannot be claimed in Postgres; the dispatcher retries",
  "send_claims.recovered": "Messages are claimed again",
  "send_recovery.failed":
    "The recovery of messages cannot read what it has to recover; it is retried every second",
  "send_recovery.recovered": "The recovery of messages succeeds again",
  "send_recovery.step_failed":
    "One step of the recovery of messages failed; it is retried every second, and the others go on",
  "send_recovery.step_recovered": "The step succeeds again",
  "session.last_used_update_failed":
    "`last_used_at` of a session could not be written; the request was not affected",
  "session.refusal_record_failed":
    "A refused sign-in could not be written to the audit log; the sign-in stayed refused",
  "signup.completed": "A person connected a channel through an embedded signup",
  "signup.failed": "A step of an embedded signup failed; `step` and `code` give the reason",
  "stream_reader.failed":
    "Wake-ups of this lane cannot be read from Redis, or in a cluster from a node; the dispatcher retries",
  "stream_reader.recovered": "All wake-ups of this lane are read again",
  "suspect_deliveries.failed":
    "Deliveries whose dispatchers died repeatedly cannot be claimed in Postgres; it is retried every second",
  "suspect_deliveries.recovered": "Deliveries whose dispatchers died repeatedly are claimed again",
  "template_cache.write_failed":
    "The stored copy of a template could not be updated; the platform's answer was returned",
  "user_token.keys_unavailable":
    "The identity provider's keys cannot be read; requests with its tokens get 503",
  "watchdog.failed": "The watchdog thread could not start or ended; a blocked process is no longer ended",
  "watchdog.started": "The watchdog thread runs",
  "web.fork_skipped": "WEB_CONCURRENCY is ignored under Deno",
  "webhook.continued":
    "More ids of a webhook about more than 100 messages or events; `request_id` is that of `webhook.received`",
  "webhook.parse_failed": "A correctly signed webhook is not a JSON object",
  "webhook.received":
    "One line per webhook of a platform, with the ids of its messages and events and the number of updates by outcome",
  "webhook.sent": "One line per webhook that the sandbox sent",
  "worker.close_failed": "A part of the process could not be closed in time",
} as const;

export type LogEvent = keyof typeof LOG_EVENTS;

type Recoverable<Event> = Event extends `${infer Subject}.recovered`
  ? `${Subject}.failed` extends LogEvent
    ? Subject
    : never
  : never;

/** Names of work that is repeated until it succeeds: those with both `x.failed` and `x.recovered`. */
export type RepeatedWork = Recoverable<LogEvent>;
