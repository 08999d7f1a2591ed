-- The codes by which failed messages are counted. A file of its own: reads of the tables wait until it is committed.

-- The code in error, with a slash and the subcode if the platform gave one; null for a failure without an error.
alter table messages add column error_code text collate "C";
-- The same of last_error.
alter table sends add column last_error_code text collate "C";
