"""Brings files from the network into a folder, whole or not at all: HTTPS, npm, PyPI, Maven Central, Debian."""
