-- The definitions of tools as they were seen, and when a person accepted them.
CREATE TABLE definition (
    server        TEXT NOT NULL REFERENCES server (id) ON DELETE CASCADE,
    name          TEXT NOT NULL,
    digest        TEXT NOT NULL,
    definition    TEXT NOT NULL,
    first_seen_at INTEGER NOT NULL,
    accepted_at   INTEGER,
    PRIMARY KEY (server, name, digest)
) STRICT;

-- When a server was first accepted: of two that want the same bare name the older one has it.
ALTER TABLE server ADD COLUMN accepted_at INTEGER;
UPDATE server SET accepted_at = 0 WHERE accepted_identity IS NOT NULL;

-- Which servers and tools a client sees.
CREATE TABLE profile (
    name    TEXT PRIMARY KEY,
    -- JSON: by server its tools, or null for all of them.
    servers TEXT NOT NULL
) STRICT;

CREATE TABLE client_profile (
    client  TEXT PRIMARY KEY,
    profile TEXT NOT NULL REFERENCES profile (name) ON DELETE CASCADE
) STRICT;
