"""The transcript of a conversation: entries with ids and authors, asides, turns, halt, change log. Pure data."""
