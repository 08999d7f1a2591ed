-- What the timeline of a message shows besides its statuses and events.
alter table messages
  -- The request that the message was accepted with.
  add column request_id text,
  -- Attempts at the platform, oldest first; error is JSON in a string, because jsonb refuses some characters of platforms:
  -- [{"attempt": 1, "at": "...", "outcome": "accepted", "status_code": 200, "duration_ms": 45, "error": null}].
  add column platform_attempts jsonb not null default '[]';
