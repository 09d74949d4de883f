"""Speaks to the engine's nodes for a caller: connections, the calls of one search, its answers, requests passed on."""
