-- A disabled rule matches nothing until a person enables it again.
ALTER TABLE rule ADD COLUMN disabled INTEGER NOT NULL DEFAULT 0;
