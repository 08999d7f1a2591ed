-- A client is a tenant: a company whose own customers connect channels and ad accounts. Every tenant's row names one.
create table clients (
  id uuid primary key,
  name text not null check (name <> ''),
  created_at timestamptz not null default now()
);
