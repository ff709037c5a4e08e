-- The entries that Drawbridge has written into configuration files of clients, and keeps up to date.
CREATE TABLE client_file (
    path         TEXT PRIMARY KEY,
    -- The kind of client, such as 'claude-code'.
    kind         TEXT NOT NULL,
    -- The name under which Drawbridge knows the client.
    client       TEXT NOT NULL,
    project      TEXT,
    transport    TEXT NOT NULL,
    asks_once    INTEGER NOT NULL,
    -- Whether the entry is restored without a question if another program removes or changes it.
    restores     INTEGER NOT NULL,
    -- SHA-256 of the entry, in hex. The entry itself may contain a token.
    entry_digest TEXT NOT NULL,
    connected_at INTEGER NOT NULL
) STRICT;
-- The changes of such files, which can be undone. The bytes of the files are outside the database,
-- encrypted.
CREATE TABLE client_change (
    id        TEXT PRIMARY KEY,
    made_at   INTEGER NOT NULL,
    action    TEXT NOT NULL,
    kind      TEXT,
    -- The paths of the files, and the servers that were imported, as JSON.
    files     TEXT NOT NULL,
    servers   TEXT NOT NULL,
    undone_at INTEGER
) STRICT;
