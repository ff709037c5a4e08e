-- What the processes of each server used in the latest recorded run. It is shown, and nothing else
-- depends on it.
CREATE TABLE access_report (
    server TEXT PRIMARY KEY,
    -- Files, addresses and programs by name, and the sandbox of the run, as a JSON object.
    report TEXT NOT NULL
) STRICT;
