-- Clients (the tenants) with their users, keys, configuration and history. Every table of a tenant has a column client_id.

create table clients (
  id uuid primary key,
  name text not null check (name <> ''),
  created_at timestamptz not null default now(),
  -- Set when the client is deleted. The row stays until all other rows of the client are erased; statements that insert rows
  -- without a foreign key to clients insert none for such a client.
  deleted_at timestamptz
);

create index clients_deleted on clients (id) where deleted_at is not null;

-- People who sign in to the console. An email belongs to one user over all clients, because a login gives nothing else.
create table users (
  id text collate "C" primary key,
  client_id uuid not null references clients (id) on delete cascade,
  email text not null check (email <> ''),
  name text not null check (name <> ''),
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  enabled boolean not null default true,
  password_hash text not null,
  -- Tokens issued before this time are refused. Set when the password changes or the user is disabled.
  tokens_valid_from timestamptz,
  last_login_at timestamptz,
  created_at timestamptz not null default now()
);

create unique index users_email on users (lower(email));
create index users_client_id on users (client_id, id);

-- Sign-ins of users. A token names its session; tokens of an ended session are refused. Ended and expired rows stay for a
-- while, because they prove that the user has signed in from the network before.
create table sessions (
  id text collate "C" primary key,
  client_id uuid not null references clients (id) on delete cascade,
  user_id text collate "C" not null references users (id) on delete cascade,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  -- Address and network are null for a token issued on the command line. The network is the IPv4 address, or the /64 of an
  -- IPv6 address.
  address text,
  network text,
  user_agent text
);

create index sessions_client_id on sessions (client_id);
create index sessions_user_id on sessions (user_id, id);
create index sessions_network on sessions (user_id, network, created_at);
create index sessions_retention on sessions ((coalesce(ended_at, expires_at)));

-- API keys. The first part of a key's text names the row, the second part is the secret; only its SHA-256 is stored.
create table api_keys (
  id text collate "C" primary key,
  client_id uuid not null references clients (id) on delete cascade,
  name text not null check (name <> ''),
  prefix text not null,
  last4 text not null,
  secret_hash bytea not null check (length(secret_hash) = 32),
  scopes text[] not null,
  created_at timestamptz not null default now(),
  -- The user who created the key; null for the command line. The name is stored because users of an identity provider have
  -- no row.
  created_by text collate "C",
  created_by_name text,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  -- The key that replaced this one in a rotation.
  replaced_by text collate "C"
);

create index api_keys_client_id on api_keys (client_id, id);

-- The audit log: who did what, from which address. A row is written in the transaction of the action and never changed.
create table audit_log (
  client_id uuid not null references clients (id) on delete cascade,
  id text collate "C" not null,
  at timestamptz not null default now(),
  actor_type text not null check (actor_type in ('user', 'api_key', 'operator', 'service')),
  actor_id text not null,
  actor_name text not null,
  action text not null,
  target text,
  address text,
  request_id text,
  details jsonb not null,
  primary key (client_id, id)
);

-- The backend to which the client's events are delivered. A client that never configured one has no row.
create table webhook_configs (
  client_id uuid primary key references clients (id) on delete cascade,
  webhook_url text,
  secret_sealed text,
  secret_last4 text,
  -- The secret before a rotation; it signs too until former_secret_until.
  former_secret_sealed text,
  former_secret_until timestamptz,
  disabled_keys text[] not null default '{}',
  -- Whether deliveries carry the token in x-webhook-token, beside the signature.
  token_header boolean not null default true
);

-- Versions of the terms of responsibility for advertising spend. The version published last is in force. A text is never
-- changed, because clients have accepted it.
create table terms_versions (
  version text collate "C" primary key check (version ~ '^[!-~]{1,64}$'),
  -- The order of publication, independent of clocks.
  number bigint generated always as identity unique,
  text text not null check (text <> ''),
  published_at timestamptz not null default clock_timestamp()
);

-- Acceptances of a version for a client. Name, email and role are those at the time: the user may be deleted later, and users
-- of an identity provider have no row.
create table terms_acceptances (
  client_id uuid not null references clients (id) on delete cascade,
  version text collate "C" not null references terms_versions (version),
  accepted_at timestamptz not null default clock_timestamp(),
  user_id text not null,
  name text not null,
  email text,
  role text not null check (role in ('owner', 'admin')),
  primary key (client_id, version)
);

-- Counts the acceptances of a version.
create index terms_acceptances_version on terms_acceptances (version);

insert into terms_versions (version, text) values ('2026-11-01', $$Terms of responsibility for advertising spend

These terms are between the company that uses this service to advertise ("you") and the company that runs the service ("we"). The "ad platform" is the company that shows the advertisements and charges for them.

1. What the service does. It lets you connect ad accounts of yours, and it creates, changes, pauses and measures campaigns, ad sets, ads and creatives in them. It does so on your instructions, whether these come from a person who is signed in or from a program that uses one of your API keys.

2. Who pays. You pay the ad platform for all advertising in your ad accounts, under your own agreement with it. We do not advance, collect, hold or refund advertising money, and no fee that we may charge includes any of it.

3. Budgets. You set every budget, bid and end date, and you answer for what is spent by them. The ad platform may spend more than a daily budget on a single day, as its own rules allow. Look at your spending often enough to stop what you did not intend.

4. Content. You answer for texts, images, videos, audiences, destinations and offers, for the rights to use them, and for the laws and the rules of the ad platform that they must follow, those for special categories such as housing, employment, credit and politics included. We do not review content before it is shown.

5. Your authority. You connect only ad accounts that you own or may act for. Whoever accepts these terms declares that they may bind you to them.

6. Access. We act with the token that a person of yours granted in the ad platform's own dialog, and only within the permissions that were granted. We keep it encrypted, hand it to nobody, and use it for nothing but this service.

7. Your people and keys. You decide who has which role and which API key has which scope, and you answer for what is done with them until you remove a user or revoke a key. What is done here in your name is put down in a log that your owners and administrators can read.

8. Limits of the service. The ad platform may refuse, delay, change or stop any advertisement, and may be out of reach. Where it gives no answer we say so, and you should look before you repeat an instruction. Figures of insights are the ad platform's own, may change after the fact, and are no invoice; what the ad platform bills is what counts.

9. Ending it. You can disable an ad account here or revoke our access at the ad platform at any time. Advertisements that run then keep running, and keep costing money, until you stop them at the ad platform. We may suspend advertising through the service where it is misused or where the ad platform or the law demands it.

10. New versions. When we publish a new version of these terms, you cannot create or change anything by the advertising part of the service until an owner or an administrator of yours has accepted it. Reading stays possible, and what runs is not stopped by it. What you did under an earlier version stays under that version.
$$);

-- Replies to requests with an Idempotency-Key, so that a repeated request gets the first reply.
create table idempotency_keys (
  client_id uuid not null,
  -- Derived from the client, the route and the key.
  id uuid not null,
  -- A hash of the body: the same key with another body is refused.
  fingerprint uuid not null,
  reply_sealed text not null,
  created_at timestamptz not null default now(),
  primary key (client_id, id)
);

create index idempotency_keys_created_at on idempotency_keys using brin (created_at);

-- Operations with an Idempotency-Key that call a platform. The claim is committed before the call, so that a later request
-- with the same key knows that the call may have happened.
create table claimed_operations (
  client_id uuid not null references clients (id) on delete cascade,
  -- Derived from the client, the route and the key.
  id uuid not null,
  -- A hash of the body: the same key with another body is refused.
  fingerprint uuid not null,
  -- claimed: a request works on it until the lease expires, then it counts as ambiguous.
  -- ambiguous: the call may have happened. completed: the reply is stored.
  state text not null check (state in ('claimed', 'ambiguous', 'completed')),
  -- Changes with each claim: a request that has lost its claim must not call the platform.
  claim_id uuid not null,
  leased_until timestamptz not null,
  reply_sealed text,
  -- When the operation was first claimed: objects that it created are not older.
  created_at timestamptz not null default now(),
  primary key (client_id, id),
  check ((state = 'completed') = (reply_sealed is not null))
);

create index claimed_operations_created_at on claimed_operations using brin (created_at);

-- Data deletions that people requested at the platform. The person's id is part of the erased data.
create table data_deletions (
  confirmation_code text primary key,
  connections integer not null,
  channels integer not null,
  signups integer not null default 0,
  erased_at timestamptz not null default now()
);
