-- Who holds the queue, and why. Null for a hold of an earlier release, and without a reason.
alter table queue_hold
  add column held_by text,
  add column reason text;
