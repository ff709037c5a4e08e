-- Every guarded request is recorded, with its method, what it carries beside its arguments, and the
-- client's arguments if a person changed them.
ALTER TABLE call ADD COLUMN method TEXT NOT NULL DEFAULT 'tools/call';
ALTER TABLE call ADD COLUMN extra TEXT;
ALTER TABLE call ADD COLUMN original_arguments TEXT;
-- The kind of requests that a rule covers; '' if it names none.
ALTER TABLE rule ADD COLUMN kind TEXT NOT NULL DEFAULT '';
