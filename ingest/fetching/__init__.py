"""Fetches files into a folder, completely or not at all: HTTPS, npm, PyPI, Maven Central, Debian."""
