"""Real search engines for the tests."""
