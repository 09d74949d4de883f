"""Studies behind the defaults of the order."""
