-- About how many tokens the calls of each tool cost, in steps of five minutes.
CREATE TABLE token_usage (
    -- The beginning of the five minutes, in milliseconds since 1970.
    at       INTEGER NOT NULL,
    client   TEXT NOT NULL,
    server   TEXT NOT NULL,
    tool     TEXT NOT NULL,
    -- The tokens of the arguments, and of the results.
    sent     INTEGER NOT NULL,
    received INTEGER NOT NULL,
    PRIMARY KEY (at, client, server, tool)
) STRICT, WITHOUT ROWID;
