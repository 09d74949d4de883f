"""The systems of the papers."""
