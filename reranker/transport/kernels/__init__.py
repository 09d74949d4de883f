"""The compiled loops of the transport (README.md)."""
