"""The store in a folder, on SQLite."""
