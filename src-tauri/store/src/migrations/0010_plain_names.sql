-- The names of the glossary. The decision 'raised' of older calls stays, because the audit seals it.
ALTER TABLE rule RENAME COLUMN life TO lifetime;
ALTER TABLE server RENAME COLUMN left_out TO excluded_entries;
UPDATE setting SET name = 'paused' WHERE name = 'raised';
UPDATE rule SET lifetime = json_object('kind', 'until_deleted') WHERE lifetime ->> 'kind' = 'until_revoked';
