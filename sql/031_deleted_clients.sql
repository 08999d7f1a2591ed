-- A deleted client keeps its row until all its other rows are erased. Statements that insert rows without a foreign key to
-- clients insert none for such a client.
alter table clients add column deleted_at timestamptz;

create index clients_deleted on clients (id) where deleted_at is not null;
