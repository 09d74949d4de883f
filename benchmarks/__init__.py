"""Benchmarks of Sinkrank and its peers. They print figures and are not tests."""
