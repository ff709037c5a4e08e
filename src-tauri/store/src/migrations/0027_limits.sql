-- How many calls a client may make in a minute, if there is a limit.
ALTER TABLE client ADD COLUMN calls_per_minute INTEGER;

-- The user to whose clients a rule applies; empty for the clients of all users.
ALTER TABLE rule ADD COLUMN user TEXT NOT NULL DEFAULT '';
