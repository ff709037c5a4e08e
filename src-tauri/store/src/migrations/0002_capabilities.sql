-- The catalog's copy of a server holds its prompts, resources and templates too.
CREATE TABLE capability (
    server     TEXT NOT NULL REFERENCES server (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL,
    position   INTEGER NOT NULL,
    definition TEXT NOT NULL,
    PRIMARY KEY (server, kind, position)
) STRICT;

INSERT INTO capability (server, kind, position, definition) SELECT server, 'tools', position, definition FROM tool;
DROP TABLE tool;
