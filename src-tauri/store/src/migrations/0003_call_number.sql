-- A call's id is kept as the number that its letters write. They are given in order, so that the one tree of the table
-- grows at its end, and nothing else has to be written with a call.
CREATE TABLE call_by_number (
    id                INTEGER PRIMARY KEY,
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

INSERT INTO call_by_number SELECT
    ((instr(l, substr(id, 1, 1)) - 1) << 45) |
    ((instr(l, substr(id, 2, 1)) - 1) << 40) |
    ((instr(l, substr(id, 3, 1)) - 1) << 35) |
    ((instr(l, substr(id, 4, 1)) - 1) << 30) |
    ((instr(l, substr(id, 5, 1)) - 1) << 25) |
    ((instr(l, substr(id, 6, 1)) - 1) << 20) |
    ((instr(l, substr(id, 7, 1)) - 1) << 15) |
    ((instr(l, substr(id, 8, 1)) - 1) << 10) |
    ((instr(l, substr(id, 9, 1)) - 1) << 5) |
    ((instr(l, substr(id, 10, 1)) - 1) << 0),
    at, client, server, tool, exposed_name, definition_digest, arguments_digest,
    decision, decided_by, reason, outcome, error, waited_ms, duration_ms
FROM call, (SELECT '23456789abcdefghijkmnpqrstuvwxyz' AS l);

DROP TABLE call;
ALTER TABLE call_by_number RENAME TO call;
