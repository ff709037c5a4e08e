-- Rules have an id, conditions on arguments, and other lives. '' in a scope column holds for all.
CREATE TABLE rule (
    id         TEXT PRIMARY KEY,
    server     TEXT NOT NULL,
    tool       TEXT NOT NULL,
    client     TEXT NOT NULL,
    read_only  INTEGER NOT NULL DEFAULT 0,
    -- JSON: what is asked of the arguments.
    conditions TEXT NOT NULL DEFAULT '[]',
    effect     TEXT,
    result     TEXT,
    -- JSON: how long it holds.
    life       TEXT NOT NULL,
    note       TEXT NOT NULL DEFAULT '',
    identity   TEXT,
    definition TEXT,
    created_at INTEGER NOT NULL,
    used       INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO rule (id, server, tool, client, effect, life, identity, definition, created_at)
SELECT
    lower(hex(randomblob(8))), server, tool, client, effect,
    CASE
        WHEN session <> '' THEN json_object('kind', 'session', 'session', session)
        WHEN expires_at IS NOT NULL THEN json_object('kind', 'until', 'at', expires_at)
        ELSE json_object('kind', 'until_revoked')
    END,
    identity, definition, created_at
FROM policy;

DROP TABLE policy;

-- Which rule decided a call, and whether a person changed its arguments.
ALTER TABLE call ADD COLUMN rule TEXT;
ALTER TABLE call ADD COLUMN is_edited INTEGER NOT NULL DEFAULT 0;
