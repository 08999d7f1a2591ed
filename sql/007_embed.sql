-- Embedded signup: links with which an end customer connects one channel to the client.

create table embed_sessions (
  id text collate "C" primary key,
  client_id uuid not null references clients (id) on delete cascade,
  -- SHA-256 of the link's token, hexadecimal.
  token_hash text collate "C" not null unique,
  -- An unfinished session counts as expired as soon as expires_at has passed; maintenance writes `expired` later.
  status text not null default 'pending' check (
    status in ('pending', 'opened', 'completed', 'failed', 'expired', 'revoked')
  ),
  allowed_origins text[] not null,
  platforms text[] not null,
  external_ref text,
  -- JSON as the client sent it.
  prefill text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  opened_at timestamptz,
  completed_at timestamptz,
  revoked_at timestamptz,
  -- JSON of the connected channel.
  result text,
  -- Why the last try failed.
  error_code text,
  error_message text,
  error_step text,
  -- How many tries were begun.
  tries integer not null default 0,
  -- The current try. dialog: the platform's dialog is open. connecting: a request runs the server steps.
  -- choosing, pin: the person must choose an asset or enter the number's PIN.
  try_id uuid,
  try_platform text,
  try_phase text check (try_phase in ('dialog', 'connecting', 'choosing', 'pin')),
  -- From this time on the try counts as ended: its process died, or the person left.
  try_until timestamptz,
  -- Changes with each claim: only the request with this lease may write the outcome of the steps.
  try_lease uuid,
  -- JSON of the granted assets and their tokens; erased when the try ends.
  grant_sealed text,
  -- The person at the platform who gave the grant: a data deletion erases the grant without opening it.
  grant_user_id text collate "C",
  granted_at timestamptz,
  -- JSON of the assets to choose from.
  choices text,
  pin_tries_left integer,
  check ((status = 'completed') = (result is not null)),
  check ((try_id is null) = (try_phase is null)),
  check (try_id is not null or grant_sealed is null)
);

create index embed_sessions_client_id on embed_sessions (client_id, id);
create index embed_sessions_external_ref on embed_sessions (client_id, external_ref, id) where external_ref is not null;
create index embed_sessions_unfinished on embed_sessions (expires_at) where status in ('pending', 'opened', 'failed');
create index embed_sessions_expires_at on embed_sessions (expires_at);
create index embed_sessions_grants on embed_sessions (try_until) where grant_sealed is not null;

-- The two-step PIN of each phone number that Herald has registered. It is stored before the platform is called: after a
-- crash, a random PIN would otherwise be lost.
create table number_pins (
  -- The platform's id of the phone number.
  id text collate "C" primary key,
  -- The client for which the number was registered last.
  client_id uuid not null references clients (id) on delete cascade,
  pin_sealed text not null
);

create index number_pins_client_id on number_pins (client_id);
