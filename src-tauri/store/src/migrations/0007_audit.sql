-- What happened, each entry's hash over the one before it. Entries are added at the end and, when they are old, taken
-- away from the beginning; nothing is ever changed.
CREATE TABLE audit (
    seq  INTEGER PRIMARY KEY,
    at   INTEGER NOT NULL,
    kind TEXT NOT NULL,
    call INTEGER,
    -- JSON, for what is no call.
    body TEXT NOT NULL DEFAULT '',
    hash BLOB NOT NULL
) STRICT;

-- Where the chain ends, authenticated, so that one cannot cut off its end.
CREATE TABLE audit_head (
    id  INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    mac BLOB NOT NULL
) STRICT;

-- The arguments without what is secret; none where they are long.
ALTER TABLE call ADD COLUMN arguments TEXT;
-- The entry with its decision; none for calls from before there were any.
ALTER TABLE call ADD COLUMN seq INTEGER;
