-- What the user set.
CREATE TABLE setting (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- Clients and the HMAC of each one's token.
CREATE TABLE client (
    name         TEXT PRIMARY KEY,
    token_hmac   BLOB,
    software     TEXT,
    created_at   INTEGER NOT NULL,
    last_seen_at INTEGER,
    revoked_at   INTEGER
) STRICT;

-- What the user accepted of each server, and the catalog's copy of it.
CREATE TABLE server (
    id                TEXT PRIMARY KEY,
    accepted_identity TEXT,
    sync_status       TEXT NOT NULL DEFAULT 'NEVER_SYNCED',
    last_synced_at    INTEGER,
    -- The identity that the copy was read from.
    synced_identity   TEXT,
    server_name       TEXT,
    server_version    TEXT,
    protocol_version  TEXT,
    instructions      TEXT
) STRICT;

CREATE TABLE tool (
    server     TEXT NOT NULL REFERENCES server (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    name       TEXT NOT NULL,
    definition TEXT NOT NULL,
    PRIMARY KEY (server, name)
) STRICT;

-- Rules. '' in a scope column holds for all.
CREATE TABLE policy (
    server     TEXT NOT NULL,
    tool       TEXT NOT NULL,
    client     TEXT NOT NULL,
    session    TEXT NOT NULL,
    effect     TEXT NOT NULL,
    identity   TEXT,
    definition TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    -- An allow for a while stands beside a lasting rule of the same scope.
    timed      INTEGER NOT NULL GENERATED ALWAYS AS (expires_at IS NOT NULL) STORED,
    UNIQUE (server, tool, client, session, timed)
) STRICT;

-- Calls: the decision is written before the call is forwarded, the outcome after.
CREATE TABLE call (
    id                TEXT PRIMARY KEY,
    at                INTEGER NOT NULL,
    client            TEXT NOT NULL,
    server            TEXT NOT NULL,
    tool              TEXT NOT NULL,
    exposed_name      TEXT NOT NULL,
    definition_digest TEXT NOT NULL,
    arguments_digest  TEXT NOT NULL,
    decision          TEXT NOT NULL,
    decided_by        TEXT NOT NULL,
    reason            TEXT NOT NULL,
    outcome           TEXT NOT NULL,
    error             TEXT NOT NULL DEFAULT '',
    waited_ms         INTEGER NOT NULL,
    duration_ms       INTEGER
) STRICT;

CREATE INDEX call_at ON call (at);
