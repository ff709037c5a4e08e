-- JSON: the entries of a server's lists that its copy has not, each with its reason.
ALTER TABLE server ADD COLUMN left_out TEXT;
