"""What every store shares: the protocol, addresses, names, checks, what is written."""
