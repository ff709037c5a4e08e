-- The client session of a call. NULL for calls of earlier versions, and if a call has no session.
ALTER TABLE call ADD COLUMN session TEXT;
-- Each index is ordered by id within a value, as lists are. Every index makes each commit of a
-- decision write another page, so there is none for clients and servers, of which most have many of
-- the newest calls, and the partial ones leave out ordinary calls.
CREATE INDEX call_session ON call (session) WHERE session IS NOT NULL;
CREATE INDEX call_tool ON call (tool);
CREATE INDEX call_decision ON call (decision) WHERE decision <> 'allowed';
CREATE INDEX call_outcome ON call (outcome) WHERE outcome NOT IN ('ok', 'running');
CREATE INDEX call_asked ON call (id)
    WHERE decided_by = 'person' OR decision IN ('timed_out', 'no_screen', 'queue_full', 'muted', 'abandoned');
