-- What the sampling provider was used for, per day. A day begins at midnight UTC.
CREATE TABLE sampling_usage (
    -- Days since 1970-01-01.
    day      INTEGER PRIMARY KEY,
    requests INTEGER NOT NULL,
    tokens   INTEGER NOT NULL
) STRICT;
