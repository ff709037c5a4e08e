-- The results of calls, if the settings say that they are kept. The audit log does not seal them,
-- because they are deleted earlier than their calls.
CREATE TABLE call_result (
    call   INTEGER PRIMARY KEY,
    -- When the call was answered.
    at     INTEGER NOT NULL,
    -- The result as JSON text with masked secrets, or its beginning.
    text   TEXT NOT NULL,
    is_cut INTEGER NOT NULL,
    -- The length of the whole result.
    bytes  INTEGER NOT NULL
) STRICT;
CREATE INDEX call_result_at ON call_result (at);
CREATE TRIGGER call_result_with_call AFTER DELETE ON call BEGIN
    DELETE FROM call_result WHERE call = OLD.id;
END;
