-- How long a server says that what was read of it may be kept, in milliseconds.
ALTER TABLE server ADD COLUMN ttl_ms INTEGER;
