-- What a person accepted with a server's identity: the whole spec as JSON, the program that it
-- started as JSON, and the names of the other servers' secrets that the server may use, as JSON.
ALTER TABLE server ADD COLUMN accepted_spec TEXT;
ALTER TABLE server ADD COLUMN accepted_program TEXT;
ALTER TABLE server ADD COLUMN granted_secrets TEXT;
