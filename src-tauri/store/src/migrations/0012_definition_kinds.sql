-- Versions are kept of everything that a server says about itself, not only of its tools. Two kinds
-- may have the same name and the same definition.
CREATE TABLE definition_by_kind (
    server        TEXT NOT NULL REFERENCES server (id) ON DELETE CASCADE,
    kind          TEXT NOT NULL,
    name          TEXT NOT NULL,
    digest        TEXT NOT NULL,
    definition    TEXT NOT NULL,
    first_seen_at INTEGER NOT NULL,
    accepted_at   INTEGER,
    -- 1 if the definition is accepted only because the server's spec trusts the server.
    trusted       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (server, kind, name, digest)
) STRICT;

INSERT INTO definition_by_kind (server, kind, name, digest, definition, first_seen_at, accepted_at)
SELECT server, 'tool', name, digest, definition, first_seen_at, accepted_at FROM definition ORDER BY rowid;

DROP TABLE definition;
ALTER TABLE definition_by_kind RENAME TO definition;
