-- The terms of responsibility for advertising spend, as the operator publishes them. The one published last is in force.
-- A text is never changed: it is what somebody has accepted.
create table terms_versions (
  version text collate "C" primary key check (version ~ '^[!-~]{1,64}$'),
  -- The order of publishing, which no clock can turn round.
  number bigint generated always as identity unique,
  text text not null check (text <> ''),
  published_at timestamptz not null default clock_timestamp()
);

-- Who accepted which version for a client, as they were then: a user may go, and those of an identity provider are not ours.
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

-- How many have accepted a version.
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
