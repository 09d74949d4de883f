"""The HTTP service: turns requests into calls of the library; it alone knows HTTP."""
