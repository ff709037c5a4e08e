-- The project folder to which a profile belongs; NULL if it belongs to none.
ALTER TABLE profile ADD COLUMN folder TEXT;
