-- Operations with an Idempotency-Key that call a platform. The claim is committed before the call, so that a later request
-- with the same key knows that the call may have happened.
create table claimed_operations (
  -- Made from the client, the route and the key.
  id uuid primary key,
  client_id uuid not null references clients (id) on delete cascade,
  -- Of the body: the same key with another body is a mistake.
  fingerprint uuid not null,
  -- claimed: a request works on it until the lease expires, then it counts as ambiguous.
  -- ambiguous: the call may have happened. completed: the reply is stored.
  state text not null check (state in ('claimed', 'ambiguous', 'completed')),
  -- Changes with each claim: a request that has lost its claim must not call the platform.
  claim_id uuid not null,
  leased_until timestamptz not null,
  reply_sealed text,
  -- When the operation was first claimed: what it created is not older.
  created_at timestamptz not null default now(),
  check ((state = 'completed') = (reply_sealed is not null))
);

create index claimed_operations_created_at on claimed_operations using brin (created_at);
create index claimed_operations_client_id on claimed_operations (client_id);
