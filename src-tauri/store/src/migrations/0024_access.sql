-- When the token of a client ends, and the previous token, which stays valid for a while after a
-- rotation.
ALTER TABLE client ADD COLUMN token_issued_at INTEGER;
ALTER TABLE client ADD COLUMN token_expires_at INTEGER;
ALTER TABLE client ADD COLUMN old_token_hmac BLOB;
ALTER TABLE client ADD COLUMN old_token_until INTEGER;
-- The HTTP library or program that used the token last.
ALTER TABLE client ADD COLUMN user_agent TEXT;

UPDATE client SET token_issued_at = created_at WHERE token_hmac IS NOT NULL;

-- A client whose profile was removed keeps its row, without a profile: it sees nothing until a
-- person chooses another profile.
CREATE TABLE client_profile_or_none (
    client  TEXT PRIMARY KEY,
    profile TEXT REFERENCES profile (name) ON DELETE SET NULL
) STRICT;
INSERT INTO client_profile_or_none (client, profile) SELECT client, profile FROM client_profile;
DROP TABLE client_profile;
ALTER TABLE client_profile_or_none RENAME TO client_profile;
