"""What live searches say of re-ranking: what it would change, and which order people click in."""
