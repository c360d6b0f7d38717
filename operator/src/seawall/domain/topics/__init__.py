"""The topic pool: what each topic should be, how it differs, and what to do about it."""
