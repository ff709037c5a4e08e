-- The periods in which a session made calls, to find its calls: period p holds the calls with the
-- ids from p * 2^30 (18 minutes) on. An index on the session of each call makes a commit write a
-- page for each session, because the calls of a session are together in an index.
CREATE TABLE session_period (
    session_id TEXT NOT NULL,
    period     INTEGER NOT NULL,
    PRIMARY KEY (session_id, period)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO session_period SELECT session, id >> 30 FROM call WHERE session IS NOT NULL;
DROP INDEX call_session;
