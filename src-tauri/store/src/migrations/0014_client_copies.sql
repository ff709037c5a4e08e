-- Whether a server declared one of its lists private, so that no client may see those that another
-- client, or Drawbridge itself, was given.
ALTER TABLE server ADD COLUMN has_private_lists INTEGER NOT NULL DEFAULT 0;
-- The copy of such lists for each client.
CREATE TABLE client_copy (
    server    TEXT NOT NULL REFERENCES server (id) ON DELETE CASCADE,
    client    TEXT NOT NULL,
    -- The identity of the server that the copy was read from.
    identity  TEXT NOT NULL,
    synced_at INTEGER NOT NULL,
    ttl_ms    INTEGER,
    -- The definitions by kind, as JSON.
    lists     TEXT NOT NULL,
    PRIMARY KEY (server, client)
) STRICT;
