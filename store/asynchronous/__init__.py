"""The plans carried out on a database: written here, the synchronous side is generated from it."""
