-- The list of clients counts the abandoned calls of a day. Without this index, it would read all calls
-- of the day.
CREATE INDEX call_abandoned ON call (at) WHERE decision = 'abandoned';
