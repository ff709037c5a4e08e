-- The servers that the official registry published, as it listed them last: a cache.
CREATE TABLE published_server (
    name TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    -- The text that a search matches, in lower case.
    search_text TEXT NOT NULL,
    -- The kinds of packages and remotes, each between spaces: ' npm remote '.
    kinds TEXT NOT NULL,
    -- Whether the server cannot be used without a secret.
    needs_key INTEGER NOT NULL,
    deprecated INTEGER NOT NULL,
    -- When the registry changed the entry last; NULL if the registry does not say.
    updated_at INTEGER,
    -- The server.json.
    document TEXT NOT NULL,
    -- The number of the complete read that listed the server last.
    generation INTEGER NOT NULL
) STRICT;
