-- Numbers of transactions compare within a generation. Unlogged: the recovery from a crash, which loses numbers and gives them
-- out again, empties the table, as do the promotion of a standby and the restore of a physical backup.
create unlogged table stream_generation (
  id boolean primary key default true check (id),
  value text not null
);
