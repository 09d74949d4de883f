"""Builds the wheels of all platforms on one machine, looks at what is in them, and tries those that run here. Not
installed."""
