"""Speaks to the nodes of the engine: connections, the calls of one search, requests that are only passed on."""
