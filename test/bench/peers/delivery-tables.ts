/** Tables of the peers that deliver events: committed events, destinations, and one history row per attempt. */
export const DELIVERY_TABLES: readonly string[] = [
  `create table if not exists peer_destinations (
    client_id uuid primary key,
    url text not null,
    secret text not null
  )`,
  `create table if not exists peer_events (
    id text primary key,
    client_id uuid not null,
    type text not null,
    payload text not null,
    created_at timestamptz not null default now()
  )`,
  `create table if not exists peer_attempts (
    event_id text collate "C" not null,
    attempt integer not null,
    client_id uuid not null,
    at timestamptz not null,
    status_code integer,
    duration_ms integer not null,
    error text,
    primary key (event_id, attempt)
  )`,
];

/** What a job of the peers contains: the body too, so that the worker does not have to read the event. */
export interface DeliveryJob {
  id: string;
  clientId: string;
  type: string;
  payload: string;
}

export const DELIVERY_QUEUE = "deliveries";
