-- The extensions of the protocol that the server declares, as a JSON object; NULL if it has none.
ALTER TABLE server ADD COLUMN extensions TEXT;
