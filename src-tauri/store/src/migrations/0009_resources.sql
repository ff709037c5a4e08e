-- Whether a server said that it has resources: it may have some that it does not list.
ALTER TABLE server ADD COLUMN offers_resources INTEGER;
