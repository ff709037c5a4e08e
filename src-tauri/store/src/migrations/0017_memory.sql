-- Each client belongs to a user; a new client to the one user of this computer.
ALTER TABLE client ADD COLUMN user TEXT NOT NULL DEFAULT 'default';

-- What clients stored with the built-in memory server. Ids are never used again.
CREATE TABLE memory (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user TEXT NOT NULL,
    client TEXT,
    content TEXT NOT NULL,
    category TEXT NOT NULL,
    tags TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
CREATE INDEX memory_of_user ON memory (user, category);

-- The full-text index, by the rowid of `memory`. It has no copy of the texts.
CREATE VIRTUAL TABLE memory_index USING fts5 (
    content,
    labels,
    content = '',
    contentless_delete = 1,
    tokenize = 'unicode61 remove_diacritics 2'
);
