-- Hooks, in the order in which they run.
CREATE TABLE hook (
    name     TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    -- The hook as JSON.
    spec     TEXT NOT NULL
) STRICT;
-- The names of the hooks that changed a call's arguments, and of those that replaced its result,
-- separated by ', '.
ALTER TABLE call ADD COLUMN request_hooks TEXT;
ALTER TABLE call ADD COLUMN result_hooks TEXT;
