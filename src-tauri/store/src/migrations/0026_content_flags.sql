-- What is suspicious in the result of a call, as a JSON array of flags.
ALTER TABLE call ADD COLUMN flags TEXT;
