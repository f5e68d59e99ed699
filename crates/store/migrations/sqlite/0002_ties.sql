-- What ties rows to each other, so that one that was lost, or moved to another place, is noticed. Rows that were written
-- before have none of it.

ALTER TABLE log ADD COLUMN checksum INTEGER;     -- of id, parent and parent_upto
ALTER TABLE session ADD COLUMN head INTEGER;     -- the last entry when the facts were last written
ALTER TABLE passage ADD COLUMN checksum INTEGER; -- of all other columns
