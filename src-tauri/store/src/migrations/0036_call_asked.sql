-- With `IN`, SQLite would build a temporary table of the values for each call that is inserted.
DROP INDEX call_asked;
CREATE INDEX call_asked ON call (id)
    WHERE decided_by = 'person' OR decision = 'timed_out' OR decision = 'no_screen'
        OR decision = 'queue_full' OR decision = 'muted' OR decision = 'abandoned';
