"""The papers' suite: every system on every collection."""
