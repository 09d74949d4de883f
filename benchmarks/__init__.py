"""Timings of Sinkrank beside its peers; they are figures, not tests."""
