"""Searches an index in two stages."""
